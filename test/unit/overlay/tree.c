/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of ranges: by hand, then by properties on random trees with random deaths. */
#include "config.h"

#include "overlay/tree.h"

#include <stdlib.h>

#include "base/random.h"
#include "test/support/tap.h"

#define PLACES_MAX 700 /* and as many more */

static void test_by_hand(void)
{
    struct ranges dead = {0};
    struct tree tree = {.places = 7, .radix = 2, .dead = &dead};
    struct range cut = tree_cut(&tree, (struct range){0, 6}, 1);

    is_uint(tree_cut_count(&tree, (struct range){0, 6}), 2, "0-6 is cut in two");
    ok(cut.first == 4 && cut.last == 6, "the second half is 4-6");
    is_uint(tree_depth(&tree), 2, "seven places in two levels");
    is_uint(tree_parent(&tree, 0), TREE_NO_PLACE, "the root has no parent");
    is_uint(tree_parent(&tree, 6), 4, "parent of 6");
    is_uint(tree_next_hop(&tree, 2, 6), 1, "from 2 to 6 it goes up first");
    is_uint(tree_next_hop(&tree, 0, 6), 4, "then down to 4");
    ranges_add(&dead, 1, 1);
    is_uint(tree_parent(&tree, 3), 2, "when 1 is dead 2 is the heir of 1-3");
    is_uint(tree_parent(&tree, 2), 0, "and its parent is the root");
    ok(tree_scope(&tree, 2).first == 1 && tree_scope(&tree, 2).last == 3, "its scope is 1-3");
    ranges_add(&dead, 2, 3);
    is_uint(tree_head(&tree, (struct range){1, 3}), TREE_NO_PLACE, "a dead range has no head");
    cut = tree_covering(&tree, 5, 6);
    ok(cut.first == 4 && cut.last == 6, "5 and 6 meet in 4-6");
    cut = tree_covering(&tree, 6, 6);
    ok(cut.first == 6 && cut.last == 6, "6 meets itself");
    cut = tree_covering(&tree, 3, 4);
    ok(cut.first == 0 && cut.last == 6, "3 and 4 meet at the top");
    ranges_fini(&dead);
    tree = (struct tree){.places = 1, .radix = 16};
    is_uint(tree_depth(&tree), 0, "a root alone");
    is_uint(tree_parent(&tree, 0), TREE_NO_PLACE, "a root alone has no parent");
}

/* What the children of every living place say, gathered once. */
struct facts {
    uint32_t parent[2 * PLACES_MAX];  /* who names it as a child */
    uint32_t parents[2 * PLACES_MAX]; /* how many do */
    uint32_t subtree[2 * PLACES_MAX]; /* living places below and including it */
    uint32_t degree_max;
};

static int gather(const struct tree *tree, uint32_t place, struct facts *facts)
{
    struct tree_cursor cursor = {{0}};
    struct range range;
    struct range scope = tree_scope(tree, place);
    uint32_t head;
    uint32_t next = place + 1;
    uint32_t degree = 0;

    while (tree_next_child(tree, place, &cursor, &range, &head)) {
        /* The root's scope ends with the population, its last annex behind that. */
        if (range.first < next || range.first > scope.last ||
            (range.last > scope.last && scope.last + 1 < tree_population(tree)))
            return 0; /* out of order, overlapping or outside */
        if (tree_scope(tree, head).first != range.first ||
            (tree_scope(tree, head).last != range.last && head != 0) ||
            tree_parent(tree, head) != place)
            return 0;
        next = range.last + 1;
        facts->parent[head] = place;
        facts->parents[head]++;
        degree++;
    }
    if (degree > facts->degree_max)
        facts->degree_max = degree;
    return 1;
}

/* Walks from one place to another by next_hop; the number of hops or -1. */
static int walk(const struct tree *tree, uint32_t from, uint32_t to, uint32_t limit)
{
    uint32_t hops = 0;

    while (from != to) {
        from = tree_next_hop(tree, from, to);
        if (from == TREE_NO_PLACE || (tree->dead != NULL && ranges_contains(tree->dead, from)))
            return -1;
        if (++hops > limit)
            return -1;
    }
    return (int)hops;
}

/* Not all of them among the first places, nor in one annex. */
static int needs_everything(const struct tree *tree, uint32_t first, uint32_t last)
{
    uint32_t begin = 0;
    uint32_t end = tree->places;

    while (end <= last) {
        begin = end;
        end += end > tree->radix ? end : tree->radix;
    }
    return first < begin;
}

static int covering_is_smallest(const struct tree *tree, uint32_t first, uint32_t last)
{
    struct range range = tree_covering(tree, first, last);

    if (range.first > first || range.last < last)
        return 0;
    if (range.first == 0 && range.last >= tree->places)
        return needs_everything(tree, first, last);
    for (uint32_t i = 0; i < tree_cut_count(tree, range); i++) {
        struct range cut = tree_cut(tree, range, i);

        if (cut.first <= first && last <= cut.last)
            return 0;
    }
    return 1;
}

static int cuts_tile(const struct tree *tree, struct range range)
{
    uint32_t next = range.first + 1;
    uint32_t count = tree_cut_count(tree, range);

    for (uint32_t i = 0; i < count; i++) {
        struct range cut = tree_cut(tree, range, i);

        if (cut.first != next || cut.last < cut.first)
            return 0;
        if (!cuts_tile(tree, cut))
            return 0;
        next = cut.last + 1;
    }
    return next == range.last + 1;
}

/* The first property that does not hold for this tree, or NULL. */
static const char *check(const struct tree *tree, struct random_state *random)
{
    struct facts facts = {.degree_max = 0};
    uint32_t head = tree_head(tree, (struct range){0, TREE_PLACES_MAX - 1});
    uint32_t depth = tree_depth(tree);
    uint32_t population = tree_population(tree);

    if (!cuts_tile(tree, (struct range){0, tree->places - 1}))
        return "cuts tile their range";
    for (uint32_t place = 0; place < population; place++) {
        if (!ranges_contains(tree->dead, place) && !gather(tree, place, &facts))
            return "children are in order, inside the scope, and agree on their parent";
    }
    for (uint32_t place = 0; place < population; place++) {
        uint32_t parents = ranges_contains(tree->dead, place) || place == head ? 0 : 1;

        if (facts.parents[place] != parents)
            return "every living place but the head of all has one parent";
        if (parents == 1 && tree_parent(tree, place) != facts.parent[place])
            return "parent and children agree";
    }
    if (head != TREE_NO_PLACE && tree_parent(tree, head) != TREE_NO_PLACE)
        return "the head of everything has no parent";
    if (facts.degree_max > tree->radix * (depth > 0 ? depth : 1))
        return "degree is at most radix * depth";
    for (int i = 0; i < 50; i++) {
        uint32_t from = (uint32_t)random_below(random, population);
        uint32_t to = (uint32_t)random_below(random, population);

        if (!covering_is_smallest(tree, from < to ? from : to, from < to ? to : from))
            return "covering is the smallest range";
        if (ranges_contains(tree->dead, from) || ranges_contains(tree->dead, to))
            continue;
        if (walk(tree, from, to, 2 * depth) < 0)
            return "next_hop reaches in 2 * depth hops over the living";
    }
    return NULL;
}

static void test_properties(void)
{
    struct random_state random;
    const char *broken = NULL;
    uint32_t round;

    random_init(&random, 1);
    for (round = 0; round < 3000 && broken == NULL; round++) {
        struct ranges dead = {0};
        struct tree tree = {.dead = &dead};
        double share = random_unit(&random) * random_unit(&random);

        tree.places = 1 + (uint32_t)random_below(&random, round % 3 == 0 ? PLACES_MAX : 40);
        tree.radix = 2 + (uint32_t)random_below(&random, 33);
        if (round % 2 == 1)
            tree.population = tree.places + (uint32_t)random_below(&random, PLACES_MAX);
        for (uint32_t place = 0; place < tree_population(&tree); place++) {
            if (random_chance(&random, share))
                ranges_add(&dead, place, place);
        }
        broken = check(&tree, &random);
        if (broken != NULL)
            diag("%u places, %u now, radix %u, round %u", tree.places, tree.population, tree.radix,
                 round);
        ranges_fini(&dead);
    }
    is_string(broken, NULL, "random trees with random deaths hold every property");
}

/* What one more place must not change. */
struct before {
    uint32_t parent[2 * PLACES_MAX];
    struct range covering[2 * PLACES_MAX]; /* of it and its middle */
};

static void look(const struct tree *tree, struct before *before)
{
    for (uint32_t place = 0; place < tree_population(tree); place++) {
        before->parent[place] = TREE_NO_PLACE;
        if (!ranges_contains(tree->dead, place))
            before->parent[place] = tree_parent(tree, place);
        before->covering[place] = tree_covering(tree, place / 2, place);
    }
}

/* The place before the population is new: it is a leaf, and all others stay where they were. */
static const char *check_newest(const struct tree *tree, const struct before *before)
{
    struct tree_cursor cursor = {{0}};
    uint32_t newest = tree_population(tree) - 1;
    struct range range;
    uint32_t head;

    if (tree_next_child(tree, newest, &cursor, &range, &head))
        return "a new place has nobody below it";
    for (uint32_t place = 0; place < newest; place++) {
        struct range covering = tree_covering(tree, place / 2, place);

        if (!ranges_contains(tree->dead, place) &&
            tree_parent(tree, place) != before->parent[place])
            return "who has a parent keeps it";
        if (covering.first != before->covering[place].first ||
            covering.last != before->covering[place].last)
            return "sets meet where they met";
    }
    return NULL;
}

/* Grows by one place after the other; some die on the way, after they have come. */
static const char *grow_tree(uint32_t places, uint32_t radix, uint32_t dying, uint32_t population)
{
    struct ranges dead = {0};
    struct tree tree = {.places = places, .radix = radix, .dead = &dead};
    struct random_state random;
    const char *broken = NULL;

    random_init(&random, dying);
    for (tree.population = places; tree.population < population && broken == NULL;) {
        struct before before;

        for (uint32_t place = 1; place < tree.population; place++) {
            /* The bits of `dying` say which of the last ten die when the next comes. */
            if (tree.population - place <= 10 && (dying >> (place % 10) & 1) != 0)
                ranges_add(&dead, place, place);
        }
        look(&tree, &before);
        tree.population++;
        broken = check_newest(&tree, &before);
        if (broken == NULL && tree.population % 8 == 0)
            broken = check(&tree, &random);
    }
    if (broken != NULL)
        diag("%u places, radix %u, dying %x: at %u", places, radix, dying, tree.population);
    ranges_fini(&dead);
    return broken;
}

static void test_growth(void)
{
    const char *broken = NULL;

    for (uint32_t places = 1; places <= 9 && broken == NULL; places++) {
        for (uint32_t radix = 2; radix <= 4 && broken == NULL; radix++) {
            for (uint32_t dying = 0; dying < 1024 && broken == NULL; dying += 1 + dying / 12)
                broken = grow_tree(places, radix, dying, places + 40);
        }
    }
    is_string(broken, NULL, "a tree grows behind its last place only, whoever has died");
    is_string(grow_tree(17, 16, 0, PLACES_MAX), NULL, "also a larger one, to forty times its size");
}

/* The links of a place: to its parent and its children. */
static uint32_t degree_of(const struct tree *tree, uint32_t place)
{
    struct tree_cursor cursor = {{0}};
    uint32_t degree = tree_parent(tree, place) != TREE_NO_PLACE;
    struct range range;
    uint32_t head;

    while (tree_next_child(tree, place, &cursor, &range, &head))
        degree++;
    return degree;
}

static void test_annexes(void)
{
    struct tree tree = {.places = 7, .radix = 2, .population = 9};
    struct range covering = tree_covering(&tree, 3, 8);
    struct tree_cursor cursor = {{0}};
    uint32_t annexes = 0;
    struct range range;
    uint32_t head;

    is_uint(tree_parent(&tree, 7), 0, "the first new place of seven is below the root");
    is_uint(tree_parent(&tree, 8), 7, "the next below that one");
    ok(tree_scope(&tree, 7).first == 7 && tree_scope(&tree, 7).last == 13, "its annex is 7-13");
    ok(covering.first == 0 && covering.last == TREE_PLACES_MAX - 1, "old and new meet at the top");
    covering = tree_covering(&tree, 3, 5);
    ok(covering.first == 0 && covering.last == 6, "old ones meet where they met");
    is_uint(tree_depth(&tree), 3, "and it may become three levels deep");
    tree = (struct tree){.places = 1, .radix = 2, .population = TREE_PLACES_MAX};
    while (tree_next_child(&tree, 0, &cursor, &range, &head))
        annexes++;
    is_uint(annexes, 24, "a root alone that grows to the limit has 24 annexes");
    is_uint(range.last, TREE_PLACES_MAX - 1, "the last ends at the limit");
    ok(tree_depth(&tree) <= TREE_DEPTH_MAX, "and it is not too deep (%u)", tree_depth(&tree));
    tree = (struct tree){.places = 1000, .radix = 16, .population = 100000};
    is_uint(degree_of(&tree, 0), 23, "1,000 places that grow to 100,000: the root has 23 links");
}

static void check_degrees(const struct tree *tree, const char *what)
{
    uint32_t bound = tree->radix * tree_depth(tree);
    uint32_t highest = 0, at = 0;

    for (uint32_t place = 0; place < tree->places; place++) {
        uint32_t degree;

        if (ranges_contains(tree->dead, place))
            continue;
        degree = degree_of(tree, place);
        if (degree > highest) {
            highest = degree;
            at = place;
        }
    }
    ok(highest <= bound, "%s: no degree above %u (of %u); at most %u", what, highest, at, bound);
}

/* The figure of issue 3: 100,000 places, radix 16. */
static void test_degree(void)
{
    struct ranges dead = {0};
    struct tree tree = {.places = 100000, .radix = 16, .dead = &dead};
    struct random_state random;

    check_degrees(&tree, "all live");
    for (int round = 0; round < 2; round++) {
        struct tree_cursor cursor = {{0}};
        struct ranges heads = {0};
        struct range range;
        uint32_t head;

        while (tree_next_child(&tree, 0, &cursor, &range, &head))
            ranges_add(&heads, head, head);
        ranges_add_all(&dead, &heads);
        ranges_fini(&heads);
        check_degrees(&tree, round == 0 ? "all of the root's children dead" : "their heirs too");
    }
    ranges_clear(&dead);
    for (uint32_t i = 0; i < tree_cut_count(&tree, (struct range){0, 99999}); i++) {
        struct range cut = tree_cut(&tree, (struct range){0, 99999}, i);

        ranges_add(&dead, cut.first, cut.first);
        for (uint32_t k = 0; k < tree_cut_count(&tree, cut); k++) {
            uint32_t first = tree_cut(&tree, cut, k).first;

            ranges_add(&dead, first, first);
        }
    }
    check_degrees(&tree, "all of the root's children and their children dead");
    ranges_clear(&dead);
    random_init(&random, 1);
    while (ranges_count(&dead) < 10000) {
        uint32_t place = 1 + (uint32_t)random_below(&random, 99999);

        ranges_add(&dead, place, place);
    }
    check_degrees(&tree, "10 % dead at random");
    ranges_fini(&dead);
}

static void print_costs(void)
{
    static const uint32_t places[] = {64, 4096, 100000, 1048576};
    static const uint32_t radixes[] = {2, 4, 6, 8, 16, 32, 64, 128};

    diag("broadcast, hop 50 us, 5 us CPU per message; radix 2 4 6 8 16 32 64 128:");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        unsigned long us[8];

        for (size_t j = 0; j < 8; j++)
            us[j] = tree_radix_cost(places[i], radixes[j], 50000, 5000) / 1000;
        diag("%8u places: %5lu %5lu %5lu %5lu %5lu %5lu %5lu %5lu us", places[i], us[0], us[1],
             us[2], us[3], us[4], us[5], us[6], us[7]);
    }
}

int main(void)
{
    test_by_hand();
    test_properties();
    test_growth();
    test_annexes();
    test_degree();
    print_costs();
    is_uint(tree_radix_cost(1000, TREE_RADIX_DEFAULT, 10000, 5000) * 4 <=
                tree_radix_cost(1000, 16, 10000, 5000) * 3,
            1, "a fast network: the default costs at most three quarters of 16");
    is_uint(tree_radix_cost(100000, TREE_RADIX_DEFAULT, 50000, 5000) <=
                tree_radix_cost(100000, 16, 50000, 5000),
            1, "a slow one: no more than 16");
    return done_testing();
}
