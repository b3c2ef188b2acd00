/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows S1, S2, S3, S5, S6 and S7: what libbanyan-fabric answers about a fabric that does not change,
 * through the archive that is installed: fabric/scheduler/scheduler.c,
 * fabric/scheduler/scheduler_register.c, fabric/scheduler/scheduler_query.c and
 * fabric/scheduler/scheduler_view.c.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/banyan/fabric.h"
#include "test/support/tap.h"

/* Two planes; of the first n1 and n2 are below one switch, n3 is below another. */
static const char two_planes[] =
    "{\"switches\": [{\"name\": \"top\", \"across\": 7},"
    " {\"name\": \"s1\", \"parent\": \"top\", \"up\": 5, \"down\": 2},"
    " {\"name\": \"s2\", \"parent\": \"top\"}, {\"name\": \"other\"}],"
    " \"nics\": [{\"name\": \"n1-a\", \"node\": \"n1\", \"switch\": \"s1\", \"plane\": \"a\"},"
    " {\"name\": \"n1-b\", \"node\": \"n1\", \"switch\": \"other\", \"plane\": \"b\"},"
    " {\"name\": \"n2-a\", \"node\": \"n2\", \"switch\": \"s1\", \"plane\": \"a\", \"up\": 3},"
    " {\"name\": \"n3-b\", \"node\": \"n3\", \"switch\": \"other\", \"plane\": \"b\"},"
    " {\"name\": \"n3-a\", \"node\": \"n3\", \"switch\": \"s2\", \"plane\": \"a\"}]}";

static char folder[] = "/tmp/bu.XXXXXX";
static char path[sizeof(folder) + 16];
static struct banyan_fabric_error why;

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        bail_out("cannot write %s", path);
}

static struct banyan_fabric_settings settings_of(const char *topology)
{
    return (struct banyan_fabric_settings){.topology = topology,
                                           .role = BANYAN_FABRIC_ROLE_SCHEDULER,
                                           .mode = BANYAN_FABRIC_MODE_POLLED};
}

static struct banyan_fabric_source *open_source(const char *topology)
{
    struct banyan_fabric_settings settings = settings_of(topology);
    struct banyan_fabric_source *source = NULL;

    if (banyan_fabric_open(&settings, &source, &why) < 0)
        bail_out("%s", why.text);
    return source;
}

static void test_open(void)
{
    struct banyan_fabric_settings settings = settings_of(NULL);
    struct banyan_fabric_source *source = NULL;

    is_int(banyan_fabric_open(&settings, &source, &why), -EINVAL, "a topology must be named");
    settings.topology = "/nowhere/topology.conf";
    is_int(banyan_fabric_open(&settings, &source, &why), -ENOENT, "a file that does not exist");
    is_string(why.text, "cannot read /nowhere/topology.conf: No such file or directory",
              "is named");
    settings.topology = "/tmp";
    is_int(banyan_fabric_open(&settings, &source, NULL), -EINVAL, "nor can a folder be read");
    settings.topology = "fat-tree:4xx";
    is_int(banyan_fabric_open(&settings, &source, &why), -EINVAL, "a wrong shape");
    has_string(why.text, "numbers from 1", "is explained");
    write_file("{\"switches\": [],\n \"nics\": 3}");
    settings.topology = path;
    is_int(banyan_fabric_open(&settings, &source, &why), -EINVAL, "a wrong description");
    has_string(why.text, path, "the file is named");
    has_string(why.text, "\"nics\" must be a list", "with what is wrong");
    settings.role = BANYAN_FABRIC_ROLE_COUNT;
    is_int(banyan_fabric_open(&settings, &source, &why), -EINVAL, "roles are checked");
    settings.role = BANYAN_FABRIC_ROLE_SCHEDULER;
    settings.mode = BANYAN_FABRIC_MODE_COUNT;
    is_int(banyan_fabric_open(&settings, &source, &why), -EINVAL, "and modes");
    ok(source == NULL, "nothing is opened");
    is_int(banyan_fabric_close(NULL), 0, "closing nothing is fine");
}

static void test_role(void)
{
    struct banyan_fabric_settings settings = settings_of("fat-tree:4x2");
    struct banyan_fabric_source *source = NULL;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    char *name = NULL;

    settings.role = BANYAN_FABRIC_ROLE_NONE;
    is_int(banyan_fabric_open(&settings, &source, &why), 0, "S1: opened in no role");
    is_int(banyan_fabric_register(source, &fabric, NULL, &why), -EPERM, "S1: is refused a fabric");
    is_string(why.text,
              "cannot register a fabric of fat-tree:4x2: the source was not opened in the role of "
              "the scheduler (BANYAN_FABRIC_ROLE_SCHEDULER)",
              "S1: clearly");
    is_int(banyan_fabric_get_plane(source, 0, &name), -EPERM, "S1: and the names of planes");
    ok(fabric.module == NULL && fabric.nverts == 0 && name == NULL, "S1: nothing is written");
    is_int(banyan_fabric_close(source), 0, "S1: closed");
}

static void test_unregistered(void)
{
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_vertex vertex = {.nic = "n1"};
    uint16_t cost;
    uint32_t i;
    char *node;

    is_int(banyan_fabric_get_vertex_info(&fabric, 0, &vertex, &node), -EBADF, "S2: no vertex");
    is_int(banyan_fabric_get_index(&fabric, &vertex, &i), -EBADF, "S2: no index");
    is_int(banyan_fabric_get_cost(&fabric, 0, 0), -EBADF, "S2: no cost");
    is_int(banyan_fabric_get_rows(&fabric, 0, 1, &cost), -EBADF, "S2: no row");
    is_int(banyan_fabric_add_handler(&fabric, NULL, NULL), -EBADF, "S2: no handler");
    is_int(banyan_fabric_update(&fabric, &why), -EBADF, "S2: no update");
    is_int(banyan_fabric_deregister(&fabric, &why), -EBADF, "S2: of a fabric not registered");
    is_string(why.text, "the fabric is not registered", "S2: which is said");
    is_int(banyan_fabric_get_cost(NULL, 0, 0), -EBADF, "S2: nor of none");
}

static void test_register(struct banyan_fabric_source *source)
{
    static const char name[] = "hsn-0.main:x_y";
    struct banyan_fabric fabric = {.name = name}, copy, bad = {.name = "hs\nn"};
    char longest[BANYAN_FABRIC_NAME_BYTES + 1];

    is_int(banyan_fabric_register(source, &bad, NULL, &why), -EINVAL, "S2: a name with a newline");
    has_string(why.text, "other characters than", "S2: is refused");
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    bad.name = longest;
    is_int(banyan_fabric_register(source, &bad, NULL, &why), -EINVAL, "S2: so is one too long");
    is_int(banyan_fabric_register(source, NULL, NULL, &why), -EINVAL, "S2: and no fabric");
    is_int(banyan_fabric_register(source, &fabric, NULL, &why), 0, "S2: registered");
    ok(fabric.name == name, "S2: the name is the user's");
    is_uint(fabric.index, 0, "S2: the plane of the highest priority");
    is_uint(fabric.nverts, 3, "S2: has three vertices");
    ok(fabric.commcost != NULL && fabric.module != NULL, "S2: all is filled");
    is_int(banyan_fabric_register(source, &fabric, NULL, &why), -EALREADY, "S2: not twice");
    copy = fabric;
    is_int(banyan_fabric_get_cost(&copy, 0, 1), -EBADF, "S2: a copy is not registered");
    is_int(banyan_fabric_close(source), -EBUSY, "S7: the source cannot be closed");
    is_int(banyan_fabric_deregister(&fabric, &why), 0, "S7: deregistered");
    ok(fabric.name == name && fabric.index == 0 && fabric.commcost == NULL && fabric.nverts == 0 &&
           fabric.module == NULL,
       "S7: all but the name is cleared");
    is_int(banyan_fabric_deregister(&fabric, NULL), -EBADF, "S7: not twice");
    is_int(banyan_fabric_register(source, &fabric, NULL, &why), 0, "S2: registered again");
    is_int(banyan_fabric_deregister(&fabric, &why), 0, "S7: and deregistered");
}

static void test_planes(struct banyan_fabric_source *source)
{
    struct banyan_fabric_directives directives = {.plane = "b"};
    struct banyan_fabric a = BANYAN_FABRIC_NONE, b = BANYAN_FABRIC_NONE;
    struct banyan_fabric_vertex vertex = {.nic = "n1-a"};
    char *first = NULL, *second = NULL, *third = NULL;
    uint32_t i = 99;

    is_int(banyan_fabric_get_plane(source, 0, &first), 0, "S2: the first plane");
    is_string(first, "a", "S2: has this name");
    is_int(banyan_fabric_get_plane(source, 1, &second), 0, "S2: the next");
    is_string(second, "b", "S2: has that one");
    is_int(banyan_fabric_get_plane(source, 2, &third), -ENOENT, "S2: there are two");
    ok(third == NULL, "S2: nothing is written");
    free(first);
    free(second);
    is_int(banyan_fabric_register(source, &b, &directives, &why), 0, "S2: a plane is chosen");
    is_uint(b.index, 1, "S2: it has its index");
    is_uint(b.nverts, 2, "S2: and its vertices");
    is_int(b.commcost[0][1], 2, "S3: their costs");
    is_int(banyan_fabric_get_index(&b, &vertex, &i), -ENOENT, "S6: those of others it does not");
    strcpy(vertex.nic, "n3-b");
    is_int(banyan_fabric_get_index(&b, &vertex, &i), 0, "S6: its own it does");
    is_uint(i, 1, "S6: by the index in the plane");
    directives.plane = "c";
    is_int(banyan_fabric_register(source, &a, &directives, &why), -ENOENT, "S2: an unknown plane");
    is_string(why.text, "no network plane is called \"c\"; known: \"a\", \"b\"", "S2: is an error");
    ok(a.module == NULL && a.commcost == NULL, "S2: nothing is registered");
    is_int(banyan_fabric_deregister(&b, &why), 0, "S7: deregistered");
}

static void test_costs(struct banyan_fabric_source *source)
{
    /* n1 -> n2: 1 + 1; n2 -> n1: 3 + 1; n1 -> n3: 1 + 5 + 7 + 1 + 1; n3 -> n1: 1 + 1 + 7 + 2 + 1 */
    static const uint16_t expected[3][3] = {{0, 2, 15}, {4, 0, 17}, {12, 12, 0}};
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE, lean = BANYAN_FABRIC_NONE;
    struct banyan_fabric_directives directives = {.matrix = BANYAN_FABRIC_MATRIX_NONE};
    uint16_t rows[2][3];

    is_int(banyan_fabric_register(source, &fabric, NULL, &why), 0, "S3: with a matrix");
    is_int(banyan_fabric_register(source, &lean, &directives, &why), 0, "S8: and without");
    ok(lean.commcost == NULL && lean.nverts == 3, "S8: there is none");
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j < 3; j++)
            ok(fabric.commcost[i][j] == expected[i][j] &&
                   banyan_fabric_get_cost(&fabric, i, j) == expected[i][j] &&
                   banyan_fabric_get_cost(&lean, i, j) == expected[i][j],
               "S3: from %u to %u", i, j);
    }
    is_int(banyan_fabric_get_rows(&lean, 1, 2, &rows[0][0]), 0, "S8: two rows");
    is_bytes(rows, sizeof(rows), expected[1], sizeof(rows), "S8: are those of the matrix");
    is_int(banyan_fabric_get_rows(&fabric, 1, 2, &rows[0][0]), 0, "S8: likewise");
    is_bytes(rows, sizeof(rows), expected[1], sizeof(rows), "S8: where there is one");
    is_int(banyan_fabric_get_rows(&lean, 3, 0, NULL), 0, "S8: no rows");
    is_int(banyan_fabric_get_rows(&lean, 2, 2, &rows[0][0]), -EINVAL, "S8: too many");
    is_int(banyan_fabric_get_rows(&lean, 1, UINT32_MAX, &rows[0][0]), -EINVAL, "S8: far too many");
    is_int(banyan_fabric_get_cost(&lean, 3, 0), -EINVAL, "S3: from a vertex that does not exist");
    is_int(banyan_fabric_get_cost(&fabric, 0, 3), -EINVAL, "S3: to one");
    banyan_fabric_deregister(&lean, NULL);
    directives.matrix_vertices = 2;
    directives.matrix = BANYAN_FABRIC_MATRIX_WITHIN_LIMIT;
    is_int(banyan_fabric_register(source, &lean, &directives, &why), 0, "S8: above the limit");
    ok(lean.commcost == NULL, "S8: there is no matrix");
    banyan_fabric_deregister(&lean, NULL);
    directives.matrix = BANYAN_FABRIC_MATRIX_REQUIRED;
    is_int(banyan_fabric_register(source, &lean, &directives, &why), -E2BIG,
           "S8: or it is refused");
    is_string(why.text, "3 vertices, the matrix is limited to those of 2", "S8: with both numbers");
    directives.matrix = BANYAN_FABRIC_MATRIX_COUNT;
    is_int(banyan_fabric_register(source, &lean, &directives, &why), -EINVAL,
           "S8: kinds are checked");
    banyan_fabric_deregister(&fabric, NULL);
}

static void test_vertices(struct banyan_fabric_source *source)
{
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_vertex vertex;
    char *node = NULL;
    uint32_t index = 99;

    is_int(banyan_fabric_register(source, &fabric, NULL, &why), 0, "S5: registered");
    is_int(banyan_fabric_get_vertex_info(&fabric, 1, &vertex, &node), 0, "S5: a vertex");
    is_string(node, "n2", "S5: its node");
    is_string(vertex.nic, "n2-a", "S5: its NIC");
    is_string(vertex.plane, "a", "S5: its plane");
    is_string(vertex.parent, "s1", "S5: its switch");
    ok(vertex.up == 3 && vertex.down == 1, "S5: its link");
    is_int(banyan_fabric_get_index(&fabric, &vertex, &index), 0, "S6: it is found");
    is_uint(index, 1, "S6: by its index");
    free(node);
    node = NULL;
    is_int(banyan_fabric_get_vertex_info(&fabric, 3, &vertex, &node), -EINVAL, "S5: out of range");
    ok(node == NULL && strcmp(vertex.nic, "n2-a") == 0, "S5: nothing is written");
    memset(vertex.nic, 'x', sizeof(vertex.nic));
    is_int(banyan_fabric_get_index(&fabric, &vertex, &index), -EINVAL, "S6: a name without an end");
    vertex.nic[0] = '\0';
    is_int(banyan_fabric_get_index(&fabric, &vertex, &index), -EINVAL, "S6: and no name");
    strcpy(vertex.nic, "n9");
    is_int(banyan_fabric_get_index(&fabric, &vertex, &index), -ENOENT, "S6: an unknown one");
    is_uint(index, 1, "S6: nothing is written");
    banyan_fabric_deregister(&fabric, NULL);
}

/* Descriptions without names of planes, and more vertices than a matrix is made for. */
static void test_large(void)
{
    struct banyan_fabric_source *source = open_source("fat-tree:25x20x40");
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    char *name = NULL;

    is_int(banyan_fabric_get_plane(source, 0, &name), 0, "one plane");
    is_string(name, "", "without a name");
    free(name);
    is_int(banyan_fabric_register(source, &fabric, NULL, &why), 0, "20,000 vertices");
    ok(fabric.commcost == NULL && fabric.nverts == 20000, "have no matrix by default");
    is_int(banyan_fabric_get_cost(&fabric, 0, 19999), 6, "but costs");
    is_int(banyan_fabric_deregister(&fabric, &why), 0, "deregistered");
    is_int(banyan_fabric_close(source), 0, "closed");
}

int main(void)
{
    struct banyan_fabric_source *source;

    if (mkdtemp(folder) == NULL)
        bail_out("cannot make %s", folder);
    snprintf(path, sizeof(path), "%s/fabric.json", folder);
    test_open();
    test_role();
    test_unregistered();
    write_file(two_planes);
    source = open_source(path);
    test_register(source);
    test_planes(source);
    test_costs(source);
    test_vertices(source);
    is_int(banyan_fabric_close(source), 0, "S7: closed");
    test_large();
    unlink(path);
    rmdir(folder);
    return done_testing();
}
