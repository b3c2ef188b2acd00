/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which source is detected, and those that leave files or lists: PBS, LSF, Grid Engine, Cobalt,
 * OAR, PJM, LoadLeveler. Each malformed form is refused with its place.
 */
#include "config.h"

#include "test/support/source_world.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

/* ---- Detection ---- */

static void detected(const char *name, const char *const *variables, const char *const *files)
{
    struct source_test test = {.variables = variables, .files = files};
    struct source_ops world = source_test_world(&test);
    const struct source *source = source_detect(&world);

    is_string(source != NULL ? source->name : "none", name, "%s, %s: %s",
              variables[0] != NULL ? variables[0] : "nothing",
              variables[0] != NULL && variables[1] != NULL ? variables[1] : "", name);
}

static void test_detection(void)
{
    detected("none", ENV(NULL), NO_FILES);
    detected("none", ENV("HOME=/root", "SLURM_CONF=/etc/slurm.conf"), NO_FILES);
    detected("none", ENV("SLURM_JOB_ID="), NO_FILES);
    detected("slurm", ENV("SLURM_JOBID=1"), NO_FILES);
    detected("slurm", ENV("SLURM_JOB_ID=1", "PBS_JOBID=2", "LSB_JOBID=3"), NO_FILES);
    detected("flux", ENV("FLUX_URI=local:///x", "SLURM_JOB_ID=1"), NO_FILES);
    detected("flux", ENV("FLUX_URI=local:///x", "FLUX_JOB_ID=f1", "SLURM_JOB_ID=1"), NO_FILES);
    detected("slurm", ENV("FLUX_URI=local:///x", "SLURM_STEP_ID=0", "SLURM_JOB_ID=1"), NO_FILES);
    detected("pals", ENV("PBS_JOBID=1", "PALS_APID=x", "PBS_NODEFILE=/n"), NO_FILES);
    detected("lsf", ENV("LSB_JOBID=1", "PBS_JOBID=2"), NO_FILES);
    detected("pbs", ENV("PBS_JOBID=1", "PE_HOSTFILE=/p"), NO_FILES);
    detected("none", ENV("JOB_ID=5", "SGE_ROOT=/sge"), NO_FILES);
    detected("gridengine", ENV("JOB_ID=5", "SGE_ROOT=/sge", "SGE_TASK_ID=undefined"), NO_FILES);
    detected("gridengine", ENV("PE_HOSTFILE=/p", "COBALT_JOBID=1"), NO_FILES);
    detected("cobalt", ENV("COBALT_NODEFILE=/p", "OAR_JOB_ID=1"), NO_FILES);
    detected("oar", ENV("OAR_JOBID=1", "PJM_JOBID=2"), NO_FILES);
    detected("pjm", ENV("PJM_O_NODEINF=/p", "LOADL_STEP_ID=1"), NO_FILES);
    detected("loadleveler", ENV("LOADL_STEP_ID=1", "_CONDOR_PROCNO=0"), NO_FILES);
    detected("condor", ENV("_CONDOR_PROCNO=0", "AWS_BATCH_JOB_NUM_NODES=2"), NO_FILES);
    detected("awsbatch", ENV("AWS_BATCH_JOB_NUM_NODES=2", "KUBERNETES_SERVICE_HOST=10.0.0.1"),
             FILES("/etc/mpi/hostfile", "a"));
    detected("none", ENV("AWS_BATCH_JOB_ID=x"), NO_FILES);
    detected("mpioperator",
             ENV("KUBERNETES_SERVICE_HOST=10.0.0.1", "OMPI_MCA_orte_default_hostfile=/hosts"),
             NO_FILES);
    detected("none", ENV("KUBERNETES_SERVICE_HOST=10.0.0.1"), NO_FILES);
    detected("mpioperator", ENV("KUBERNETES_SERVICE_HOST=10.0.0.1"),
             FILES("/etc/mpi/hostfile", "a"));
    detected("none", ENV("KUBERNETES_SERVICE_HOST=10.0.0.1"), NO_FILES);
    detected("none", ENV("HYDRA_HOST_FILE=/etc/mpi/hostfile"), FILES("/etc/mpi/hostfile", "a"));
}

static void test_by_name(void)
{
    struct source_test test = {.variables = ENV("SLURM_JOB_ID=1"), .files = NO_FILES};
    struct source_ops world = source_test_world(&test);
    struct source_result result;
    struct error error = ERROR_NONE;

    for (size_t i = 0; source_at(i) != NULL; i++) {
        ok(source_find(source_at(i)->name, NULL) == source_at(i), "%s is found by its name",
           source_at(i)->name);
    }
    ok(source_find("torq", &error) == NULL, "an unknown name is not");
    is_string(
        error.text,
        "unknown scheduler \"torq\"; known are flux, pals, slurm, lsf, pbs, gridengine, cobalt, oar, pjm, loadleveler, condor, awsbatch, mpioperator",
        "which is said");
    ok(source_read(source_find("pbs", NULL), &world, &result, &error) == -EINVAL,
       "a source that is not there can be forced, but not read");
    is_string(error.text, "PBS: PBS_NODEFILE is not set", "which is said");
}

/* Without anything but its presence every source is an error: no one goes on with the local
 * machine. */
static void test_nothing_but_presence(void)
{
    source_bad("pals", ENV("PALS_APID=x"), NO_FILES, "PALS job x: PBS_NODEFILE is not set");
    source_bad(
        "lsf", ENV("LSB_JOBID=3"), NO_FILES,
        "LSF job 3: none of LSB_DJOB_HOSTFILE, LSB_DJOB_RANKFILE, LSB_MCPU_HOSTS and LSB_HOSTS is set");
    source_bad("pbs", ENV("PBS_JOBID=4.srv"), NO_FILES, "PBS job 4.srv: PBS_NODEFILE is not set");
    source_bad("pbs", ENV("PBS_JOBID=4.srv", "PBS_NODEFILE="), NO_FILES,
               "PBS job 4.srv: PBS_NODEFILE is empty");
    source_bad("pbs", ENV("PBS_JOBID=4", "PBS_NODEFILE=/gone"), NO_FILES,
               "PBS job 4: PBS_NODEFILE: cannot read /gone: No such file or directory");
    source_bad("gridengine", ENV("JOB_ID=5", "SGE_ROOT=/sge", "SGE_TASK_ID=1"), NO_FILES,
               "Grid Engine job 5: no parallel environment was requested (qsub -pe): PE_HOSTFILE "
               "is not set");
    source_bad("cobalt", ENV("COBALT_JOBID=6"), NO_FILES,
               "Cobalt job 6: COBALT_NODEFILE is not set");
    source_bad("oar", ENV("OAR_JOB_ID=7"), NO_FILES,
               "OAR job 7: none of OAR_NODEFILE, OAR_NODE_FILE and OAR_FILE_NODES is set");
    source_bad("pjm", ENV("PJM_JOBID=8"), NO_FILES, "PJM job 8: PJM_O_NODEINF is not set");
    source_bad("loadleveler", ENV("LOADL_STEP_ID=9"), NO_FILES,
               "LoadLeveler job 9: neither LOADL_HOSTFILE nor LOADL_PROCESSOR_LIST is set");
    source_bad("condor", ENV("_CONDOR_PROCNO=0"), NO_FILES, "HTCondor: _CONDOR_JOB_AD is not set");
}

/* ---- Node files ---- */

static void pbs_good(const char *file, const char *expected)
{
    source_good("pbs", ENV("PBS_JOBID=4", "PBS_NODEFILE=/n"), FILES("/n", file), expected);
}

static void pbs_bad(const char *file, const char *expected)
{
    source_bad("pbs", ENV("PBS_JOBID=4", "PBS_NODEFILE=/n"), FILES("/n", file), expected);
}

static void test_pbs(void)
{
    struct source_test zero = {
        .variables = ENV("PBS_JOBID=4", "PBS_NODEFILE=/n"),
        .files = FILES("/n", "a\nb\0c\n"),
        .file_bytes = 6,
    };

    pbs_good("a\na\nb\nb\n", "a,b:2");
    pbs_good("a\nb\na\nb\na\n", "a:3 b:2");
    pbs_good("a\nb\nc", "a,b,c:1");
    pbs_good("a\r\n\r\na\r\n  \n b\t\n\n", "a:2 b:1");
    pbs_good("n001.site.org\nn002.site.org\n", "n[001-002].site.org:1");
    pbs_good("x1000c0s0b0n0-hsn0\n", "x1000c0s0b0n0-hsn0:1");
    pbs_good("n1\nn2\nn3\nn3\nn2\nn1\n", "n[1-3]:2");
    pbs_good("n1.site.org\nn2.site.org\nn1\nn2\n", "n[1-2].site.org:2");
    pbs_good("n1\nn1.site.org\nn2\n", "n1:2 n2:1");
    pbs_good("n1.site.org\nn2.other.org\nn2\nn1.site\n", "n1.site.org:1 n2.other.org:2 n1.site:1");
    pbs_good("10.0.0.1\n10\n10.0.0.2\n", "10.0.0.1,10,10.0.0.2:1");
    pbs_bad("", "PBS job 4: PBS_NODEFILE: /n: contains no node name");
    pbs_bad("\n\n", "PBS job 4: PBS_NODEFILE: /n: contains no node name");
    pbs_bad("a\nhost[0]\n", "PBS job 4: PBS_NODEFILE: /n:2:5: '[' is not allowed in a node name");
    pbs_bad("a\nb:2\n", "PBS job 4: PBS_NODEFILE: /n:2:2: ':' is not allowed in a node name");
    pbs_bad("a\n\nb slots=2\n",
            "PBS job 4: PBS_NODEFILE: /n:3:3: one name per line expected; unexpected \"slots=2\"");
    pbs_bad("a\n -oProxyCommand=x\n",
            "PBS job 4: PBS_NODEFILE: /n:2:2: a node name cannot begin with '-'");
    pbs_bad("a\n$(id)\n", "PBS job 4: PBS_NODEFILE: /n:2:1: '$' is not allowed in a node name");
    pbs_bad("a\nb\x1b[1m\n", "PBS job 4: PBS_NODEFILE: /n:2:2: control character 0x1b");
    source_bad_test("pbs", &zero, "PBS job 4: PBS_NODEFILE: /n:2:2: control character 0x00");
}

static void test_long_name(void)
{
    char file[300] = "";

    memset(file, 'n', 255);
    pbs_good(file, strcat(strcpy((char[300]){0}, file), ":1"));
    file[255] = 'n';
    pbs_bad(file, "PBS job 4: PBS_NODEFILE: /n:1:1: a name of more than 255 bytes");
}

/* Slots add up to the limit, whether lines follow each other or not. */
static void test_many_lines(void)
{
    enum { LINES = 1000001 };
    struct buffer file = {0};

    for (int i = 0; i < LINES - 1; i++)
        buffer_append_string(&file, "a\n");
    pbs_good(buffer_string(&file), "a:1000000");
    buffer_append_string(&file, "a\n");
    pbs_bad(buffer_string(&file), "PBS job 4: node a has more than 1000000 slots");
    buffer_fini(&file);
}

static void test_node_files(void)
{
    source_good("cobalt", ENV("COBALT_JOBID=6", "COBALT_NODEFILE=/n"), FILES("/n", "c1\nc2\n"),
                "c[1-2]:1 unknown");
    source_good("oar", ENV("OAR_JOB_ID=6", "OAR_NODEFILE=/n"), FILES("/n", "c1\nc1\nc2\n"),
                "c1:2 c2:1");
    source_good("oar", ENV("OAR_JOB_ID=6", "OAR_NODE_FILE=/n"), FILES("/n", "c1\n"), "c1:1");
    source_good("oar", ENV("OAR_JOB_ID=6", "OAR_FILE_NODES=/n"), FILES("/n", "c1\n"), "c1:1");
    source_good("pjm", ENV("PJM_JOBID=6", "PJM_O_NODEINF=/n"),
                FILES("/n", "10.1.0.1\n10.1.0.2\nfe80::7%tofu1\n"),
                "10.1.0.[1-2],fe80::7%tofu1:1 unknown");
    source_good("pjm", ENV("PJM_JOBID=6", "PJM_O_NODEINF=/n", "PJM_PROC_BY_NODE=4"),
                FILES("/n", "10.1.0.1\n10.1.0.2\n10.1.0.2\n"), "10.1.0.1:4 10.1.0.2:8");
    source_bad(
        "pjm", ENV("PJM_JOBID=6", "PJM_O_NODEINF=/n", "PJM_PROC_BY_NODE=many"),
        FILES("/n", "10.1.0.1\n"),
        "PJM job 6: PJM_PROC_BY_NODE: column 1: it must be a number from 1 to 100000, not \"many\"");
    source_good("loadleveler", ENV("LOADL_STEP_ID=6", "LOADL_HOSTFILE=/n"),
                FILES("/n", "c1\nc1\nc2\n"), "c1:2 c2:1");
    source_good("loadleveler", ENV("LOADL_STEP_ID=6", "LOADL_PROCESSOR_LIST=c1 c2 c1 "), NO_FILES,
                "c1:2 c2:1");
    source_bad(
        "loadleveler", ENV("LOADL_STEP_ID=6", "LOADL_PROCESSOR_LIST=c1 c;2"), NO_FILES,
        "LoadLeveler job 6: LOADL_PROCESSOR_LIST: column 5: ';' is not allowed in a node name");
    source_bad("loadleveler", ENV("LOADL_STEP_ID=6", "LOADL_PROCESSOR_LIST="), NO_FILES,
               "LoadLeveler job 6: LOADL_PROCESSOR_LIST is empty");
}

/* ---- LSF ---- */

#define LSF "LSB_JOBID=3"

static void test_lsf(void)
{
    source_good("lsf", ENV(LSF, "LSB_HOSTS=a a b a", "LSB_MCPU_HOSTS=a 3 b 1 "), NO_FILES,
                "a:3 b:1");
    source_good("lsf", ENV(LSF, "LSB_HOSTS=a a b a"), NO_FILES, "a:3 b:1");
    source_good("lsf", ENV(LSF, "LSB_MCPU_HOSTS= hostA 4  hostB 2 hostA 1"), NO_FILES,
                "hostA:5 hostB:2");
    source_good("lsf", ENV(LSF, "LSB_MCPU_HOSTS=x 1", "LSB_DJOB_HOSTFILE=/h"),
                FILES("/h", "a\na\nb\n"), "a:2 b:1");
    source_good("lsf", ENV(LSF, "LSB_DJOB_RANKFILE=/h"), FILES("/h", "a\nb\na\n"), "a:2 b:1");
    source_good("lsf", ENV(LSF, "LSB_DJOB_RANKFILE=/h", "CSM_ALLOCATION_ID=9"),
                FILES("/h", "batch\na\na\nb\nb\n"), "a,b:2");
    source_good("lsf", ENV(LSF, "LSB_MCPU_HOSTS=batch5 1 a 42 b 42", "CSM_ALLOCATION_ID=9"),
                NO_FILES, "a,b:42");
    source_good("lsf", ENV(LSF, "LSB_MCPU_HOSTS=a 42 b 42", "CSM_ALLOCATION_ID=9"), NO_FILES,
                "a,b:42");
    source_bad("lsf", ENV(LSF, "LSB_MCPU_HOSTS=batch5 1", "CSM_ALLOCATION_ID=9"), NO_FILES,
               "LSF job 3: LSB_MCPU_HOSTS: contains no node name");
    source_bad("lsf", ENV(LSF, "LSB_MCPU_HOSTS=a 4 b"), NO_FILES,
               "LSF job 3: LSB_MCPU_HOSTS: column 6: the number of slots is missing");
    source_bad(
        "lsf", ENV(LSF, "LSB_MCPU_HOSTS=a b 4"), NO_FILES,
        "LSF job 3: LSB_MCPU_HOSTS: column 3: the number of slots must be a number from 1 to 1000000, not \"b\"");
    source_bad(
        "lsf", ENV(LSF, "LSB_MCPU_HOSTS=a 4 b 0"), NO_FILES,
        "LSF job 3: LSB_MCPU_HOSTS: column 7: the number of slots must be a number from 1 to 1000000, not \"0\"");
    source_bad(
        "lsf", ENV(LSF, "LSB_MCPU_HOSTS=a -4"), NO_FILES,
        "LSF job 3: LSB_MCPU_HOSTS: column 3: the number of slots must be a number from 1 to 1000000, not \"-4\"");
    source_bad("lsf", ENV(LSF, "LSB_HOSTS=a b[1]"), NO_FILES,
               "LSF job 3: LSB_HOSTS: column 4: '[' is not allowed in a node name");
    source_bad("lsf", ENV(LSF, "LSB_HOSTS=  "), NO_FILES,
               "LSF job 3: LSB_HOSTS: contains no node name");
    source_bad("lsf", ENV(LSF, "LSB_MCPU_HOSTS=a 1", "LSB_DJOB_HOSTFILE=/h"), NO_FILES,
               "LSF job 3: LSB_DJOB_HOSTFILE: cannot read /h: No such file or directory");
}

#define HOSTS "LSB_MCPU_HOSTS=a 2 b 1", "LSB_AFFINITY_HOSTFILE=/aff"

static void affinity_bad(const char *file, const char *expected)
{
    source_bad("lsf", ENV(LSF, HOSTS), FILES("/aff", file), expected);
}

static void test_affinity(void)
{
    struct source_test test = {
        .variables = ENV(LSF, HOSTS),
        .files = FILES("/aff", "a 0,1,2,3 0 1\nb 7\na 4,6\t1\n"),
    };
    struct source_ops world = source_test_world(&test);
    struct source_result result;
    struct error error = ERROR_NONE;
    struct buffer text = {0};

    if (ok(source_read(source_find("lsf", NULL), &world, &result, &error) == 0, "affinity: %s",
           error.text)) {
        for (uint32_t i = 0; i < result.tasks_count; i++) {
            buffer_printf(&text, "%u:", result.tasks[i].node);
            ranges_print(&result.tasks[i].cpus, &text);
            buffer_append_string(&text, " ");
        }
        source_result_fini(&result);
    }
    is_string(buffer_string(&text), "0:0-3 1:7 0:4,6 ", "each task has its node and CPUs");
    buffer_fini(&text);
    source_good("lsf", ENV(LSF, HOSTS), FILES("/aff", ""), "a:2 b:1");
    affinity_bad("a 0,1\nc 0\n",
                 "LSF job 3: LSB_AFFINITY_HOSTFILE: /aff:2:1: the job has no node \"c\"");
    affinity_bad("a\n", "LSF job 3: LSB_AFFINITY_HOSTFILE: /aff:1:2: the list of CPUs is missing");
    affinity_bad(
        "a 0,,1\n",
        "LSF job 3: LSB_AFFINITY_HOSTFILE: /aff:1:5: a CPU must be a number from 0 to 1048575, not \"\"");
    affinity_bad(
        "a 0,1,\n",
        "LSF job 3: LSB_AFFINITY_HOSTFILE: /aff:1:7: a CPU must be a number from 0 to 1048575, not \"\"");
    affinity_bad(
        "a 0\nb 0-3\n",
        "LSF job 3: LSB_AFFINITY_HOSTFILE: /aff:2:3: a CPU must be a number from 0 to 1048575, not \"0-3\"");
    source_bad("lsf", ENV(LSF, HOSTS), NO_FILES,
               "LSF job 3: LSB_AFFINITY_HOSTFILE: cannot read /aff: No such file or directory");
}

/* ---- Grid Engine ---- */

static void sge_good(const char *file, const char *expected)
{
    source_good("gridengine", ENV("JOB_ID=5", "PE_HOSTFILE=/p"), FILES("/p", file), expected);
}

static void sge_bad(const char *file, const char *expected)
{
    source_bad("gridengine", ENV("JOB_ID=5", "PE_HOSTFILE=/p"), FILES("/p", file), expected);
}

static void test_grid_engine(void)
{
    sge_good("node1 4 all.q@node1 UNDEFINED\n", "node1:4");
    sge_good("node1 4 all.q@node1 UNDEFINED\nnode2 2 all.q@node2 <NULL>\n"
             "node1 1 b.q@node1 0,0:0,1\n",
             "node1:5 node2:2");
    sge_good("\nnode1 4\n\n\nnode2 4 q\n", "node[1-2]:4");
    sge_bad("node1 4\nnode2\n",
            "Grid Engine job 5: PE_HOSTFILE: /p:2:6: the number of slots is missing");
    sge_bad(
        "node1 x q U\n",
        "Grid Engine job 5: PE_HOSTFILE: /p:1:7: the number of slots must be a number from 1 to 1000000, not \"x\"");
    sge_bad(
        "node1 0 q U\n",
        "Grid Engine job 5: PE_HOSTFILE: /p:1:7: the number of slots must be a number from 1 to 1000000, not \"0\"");
    sge_bad("node1 4\nno|de 2\n",
            "Grid Engine job 5: PE_HOSTFILE: /p:2:3: '|' is not allowed in a node name");
    sge_bad("\n", "Grid Engine job 5: PE_HOSTFILE: contains no node name");
}

int main(void)
{
    test_detection();
    test_by_name();
    test_nothing_but_presence();
    test_pbs();
    test_long_name();
    test_many_lines();
    test_node_files();
    test_lsf();
    test_affinity();
    test_grid_engine();
    return done_testing();
}
