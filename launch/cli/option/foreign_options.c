/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/foreign_options.h"

#include <string.h>

#define ANY "np" /* for every command that starts or places processes */

#define SCHEDULER \
    "an option of the scheduler: give it to salloc or sbatch, or in --alloc \"slurm: ...\""
#define MCA          "banyan reads no MCA parameters; for Open MPI itself use -x OMPI_MCA_NAME=VALUE"
#define DAEMON_DEBUG "use -vv, which also prints the daemons' logs"
#define RECOVERY \
    "--on-failure restart:N restarts ranks that do not use MPI, continue lets the others go on"
#define NO_SERVER "there is no server to connect to: each run starts its own daemons"

const struct foreign_option foreign_options[] = {
    /* How many processes */
    {"ntasks", "np", "use -n N"},
    {"c", "cpus-per-rank",
     "use -n N (number of processes, as in mpirun) or --cpus-per-rank N (cores of each, as in srun)"},
    {"perhost npernode ntasks-per-node tasks-per-node", "per-node",
     "use -N N (processes per node)"},
    {"grr", "per-node", "use -N N (processes per node)"},
    {"pernode", "per-node", "use -N 1 (one process per node)"},
    {"npersocket ntasks-per-socket", "map-by", "use --map-by ppr:N:package"},
    {"ntasks-per-core", "map-by", "use --map-by ppr:N:core"},
    {"ntasks-per-gpu", "gpus-per-rank",
     "use -N N with --gpus-per-rank; GPUs are not shared between ranks unless --oversubscribe"},
    {"ppr", "map-by", "use --map-by ppr:N:OBJECT"},
    {"nodes", "host", "choose the nodes with --host, or request them with --alloc \"slurm: -N N\""},
    {"use-min-nodes spread-job", "map-by", "use --map-by slot (fewest nodes) or node (all nodes)"},
    {"soft", "np", "use -n N; a run starts all processes or none"},
    {"usize", ANY, "not needed: the universe size is the number of slots"},
    {"O overcommit", "oversubscribe", "use --oversubscribe"},
    {"s", "oversubscribe",
     "Intel MPI's -s RANK is --stdin RANK; mpirun's -s is not supported and srun's not needed"},
    {"nooversubscribe", "oversubscribe", "this is the default"},
    /* Where they go */
    {"mapby", "map-by", "use --map-by"},
    {"rankby", "rank-by", "use --rank-by"},
    {"bindto", "bind-to", "use --bind-to"},
    {"bynode rr", "map-by", "use --map-by node"},
    {"byslot", "map-by", "use --map-by slot, the default"},
    {"bycore", "map-by", "use --map-by core"},
    {"bysocket", "map-by", "use --map-by package"},
    {"m distribution", "map-by", "use --map-by node (cyclic) or --map-by slot (block)"},
    {"order-nodes", "host", "nodes keep the order of --host or --hostfile"},
    {"rf rankfile rankmap", "map-by", "use --map-by rankfile:FILE"},
    {"cpus-per-task", "cpus-per-rank", "use --cpus-per-rank N"},
    {"bind-to-core", "bind-to", "use --bind-to core"},
    {"bind-to-socket", "bind-to", "use --bind-to package"},
    {"use-hwthread-cpus", "map-by", "use --map-by hwthread or --bind-to hwthread"},
    {"cpu-bind binding", "bind-to", "use --bind-to LEVEL, or --map-by rankfile:FILE to list cores"},
    {"accel-bind gpu-bind tres-bind", "gpus-per-rank",
     "use --gpus-per-rank N: each rank gets the nearest"},
    {"hint", "bind-to", "use --bind-to core (nomultithread) or --bind-to hwthread (multithread)"},
    {"cpu-set cpu-list", "map-by", "use --map-by rankfile:FILE, or start banyan under taskset"},
    {"mem-bind membind", "bind-memory", "use --bind-memory local or preferred"},
    {"gpus-per-task gpus-per-proc", "gpus-per-rank", "use --gpus-per-rank N"},
    {"tres-per-task", "gpus-per-rank", "use --gpus-per-rank N and --cpus-per-rank N"},
    {"gpu-subdevs-per-proc", "gpus-per-rank",
     "use --gpus-per-rank N; fractions of a GPU are not supported"},
    {"topolib cartofile cf", ANY, "not needed: hwloc describes each node"},
    {"use-app-topology", "map-by", "not supported: place ranks with --map-by rankfile:FILE"},
    {"index-argv-by-rank dac", ANY, "not supported"},
    /* Which nodes */
    {"w nodelist hostlist machine machines machinelist", "host", "use --host LIST"},
    {"f F nodefile default-hostfile", "hostfile", "use --hostfile FILE"},
    {"exclude", "host", "use --host ^NAMES, which leaves nodes out"},
    {"r relative", "host", "use --host +nK (node K of the allocation, from 0)"},
    {"add-host add-hostfile", "host",
     "nodes cannot be added to a run: name all with --host or --hostfile"},
    {"nolocal skip-launch-node", "map-by", "use --map-by HOW:nolocal"},
    {"localhost hostos localroot localuser", ANY, "not needed"},
    {"do-not-resolve", ANY, "not needed: node names are used as given"},
    {"constraint C prefer", "require",
     "use --require feature=NAME, which selects among the allocated nodes"},
    {"mem mincpus", "require", "use --require, as in mem>=64G; memory is not limited per rank"},
    {"max-vm-size", "host", "choose the nodes with --host"},
    {"novm", ANY, "not needed: only nodes of the run get a daemon"},
    {"rmk", "source", "use --source NAME (default: the scheduler that is detected)"},
    {"noconf", ANY, "use BANYAN_CONFIG=none in the environment"},
    /* Environment, directory, program */
    {"genv", "env", "use -x NAME=VALUE"},
    {"genvlist envlist", "env", "all variables are exported; -x NAME=VALUE sets one"},
    {"genvall envall genvnone envnone genvexcl", "env",
     "all variables are exported; 'env -i banyan ...' starts with an empty environment"},
    {"export", "env", "all variables are exported; -x NAME=VALUE sets one"},
    {"export-file", "env-file", "use --env-file FILE, lines of NAME=VALUE"},
    {"fwd-environment E preserve-env", "env", "not needed: all variables are exported"},
    {"unset-env", "unset", "use --unset NAME"},
    {"prepend-env", "prepend", "use --prepend NAME=VALUE[:SEPARATOR]"},
    {"append-env", "append", "use --append NAME=VALUE[:SEPARATOR]"},
    {"D wd cwd", "wdir", "use --wdir DIR"},
    {"set-cwd-to-session-dir", "wdir", "use --wdir with a directory; ranks have $TMPDIR"},
    {"path", "env", "use -x PATH=..."},
    {"prefix noprefix pmix-prefix app-prefix app-pmix-prefix no-app-prefix", "banyand",
     "not needed; --banyand PATH says where the daemon is installed"},
    {"gumask", "umask", "use --umask MASK before the first program"},
    {"propagate", "rlimit", "use --rlimit NAME=SOFT[:HARD]"},
    {"configfile app file", "app-file", "use --app-file FILE, a program with its options per line"},
    {"multi-prog", "app-file",
     "use --app-file FILE, a program with its -n per line, or -n 1 ./a : -n 3 ./b"},
    {"bcast bcast-exclude compress send-libs preload-binary preload-files", ANY,
     "not supported: programs and files must be on all nodes"},
    {"prolog epilog task-prolog task-epilog", ANY, "not supported: use a wrapper script"},
    {"container container-id", ANY, "not supported: run the container runtime as the program"},
    {"arch", "require", "use --require arch=NAME"},
    {"pset", ANY, "not supported: process sets have no names"},
    {"personality", "mpi", "not needed: --mpi chooses the interfaces to offer"},
    {"pmi-port pmi-connect pmi-aggregate pmi-noaggregate", "mpi",
     "not needed: --mpi chooses the interfaces to offer"},
    {"memory-alloc-kinds initial-errhandler", ANY, "not supported: set it in the program"},
    /* Input and output */
    {"i input", "stdin", "use --stdin RANK|all|none, and redirect standard input with < FILE"},
    {"o output-filename output-directory outfile outfile-pattern", "output",
     "use --output FILE.%r, a file for each rank, or FILE, one for all"},
    {"e errfile errfile-pattern", "error",
     "use --error FILE.%r, a file for each rank, or FILE, one for all"},
    {"open-mode", "output", "not supported: files of --output are emptied first"},
    {"tag-output prepend-rank", "label", "use -l"},
    {"prepend-pattern", "label", "use -l, which labels each line with its rank"},
    {"timestamp-output", "timestamp", "use --timestamp"},
    {"ordered-output", ANY, "not needed: lines of different ranks are never interleaved"},
    {"merge-stderr-to-stdout", "merge", "use --merge"},
    {"u unbuffered stream-buffering", ANY, "not needed: banyan passes output on at once"},
    {"xml xml-file parsable parseable", "json", "use --json FILE, a summary of the run"},
    {"xterm", ANY, "not supported: start 'xterm -e PROGRAM' as the program"},
    {"enable-x disable-x x11", ANY, "not supported"},
    {"quiet Q", ANY, "not needed: banyan prints nothing unless something fails"},
    {"q", ANY, "mpirun's -q is not needed; srun's -q NAME is for the scheduler"},
    {"info", "version", "use --version"},
    {"demux threads T treewidth", ANY, "not needed"},
    {"print-all-exitcodes", "json", "not supported: the rank that failed first is reported"},
    {"print-rank-map display-map display-devel-map display-diffable-map do-not-launch test-only",
     "np", "use 'banyan map' with the same options"},
    {"display", "report-bindings", "use --report-bindings, or 'banyan map' and 'banyan alloc'"},
    {"display-allocation display-devel-allocation", "np", "use 'banyan alloc --explain'"},
    {"display-topo", "np", "use 'banyan map --show-topology'"},
    {"show-progress", "verbose", "use -v"},
    {"no-aggregate-help", ANY, "not needed"},
    /* Time, failures, signals */
    {"t time", "timeout", "use --timeout SECONDS (srun counts minutes)"},
    {"time-min", ANY, SCHEDULER},
    {"spawn-timeout msg-timeout", "start-timeout", "use --start-timeout SECONDS"},
    {"K kill-on-bad-exit", "on-failure", "this is the default; --on-failure continue turns it off"},
    {"W wait", "on-failure", "a job ends with its last rank, or when one fails (--on-failure)"},
    {"k no-kill", "on-failure", "use --on-failure continue"},
    {"disable-auto-cleanup continuous", "on-failure", "use --on-failure continue"},
    {"enable-auto-cleanup", "on-failure", "this is the default"},
    {"enable-recovery max-restarts with-ft", "on-failure", RECOVERY},
    {"disable-recovery", "on-failure", "this is the default"},
    {"report-child-jobs-separately", "json",
     "not supported: --json FILE has the status of the run"},
    {"X disable-status quit-on-interrupt", ANY, "not needed: Ctrl-C ends the job"},
    {"signal forward-signals", ANY,
     "send SIGUSR1 or SIGUSR2 to banyan: they are forwarded to all ranks"},
    {"get-stack-traces", "stack", "use --stack, which has the ranks' stacks reported by --timeout"},
    {"report-state-on-timeout", "timeout", "use --timeout, which always reports it"},
    {"silent-abort", ANY, "not supported: redirect standard error"},
    {"runtime-options rtos", "on-failure",
     "use the options of banyan: --on-failure, --timeout, --radix"},
    /* Debuggers and profilers */
    {"gdb gdba debug debugger tv stop-on-exec stop-in-init stop-in-app", ANY,
     "not supported: run 'gdb -p PID' on the rank's node, or gdb as the program"},
    {"gtool gtoolfile exec-agent", ANY,
     "not supported: start the tool as the program, as in: -n 1 valgrind ./app : -n 3 ./app"},
    {"aps mps check_mpi trace-pt2pt trace-collectives", ANY,
     "not supported: preload the tool's library with -x LD_PRELOAD=..."},
    {"output-proctable report-events", ANY, "not supported: banyan has no debugger interface"},
    /* Daemons, start, network */
    {"launcher bootstrap", "starter", "use --starter NAME"},
    {"launcher-exec bootstrap-exec launch-agent", "ssh-agent", "use --ssh-agent COMMAND"},
    {"bootstrap-exec-args", "ssh-agent", "put them into a script, and use --ssh-agent SCRIPT"},
    {"branch-count", "radix", "use --radix R"},
    {"iface", "net", "use --net INTERFACE"},
    {"resv-ports", "port-range", "use --port-range A-B"},
    {"fwd-mpirun-port", "port-range", "not needed; --port-range A-B limits the ports"},
    {"network", ANY, SCHEDULER},
    {"enable-instant-on-support hybrid-hosts use-regexp uniform-nodes", ANY, "not needed"},
    {"disable-hostname-propagation enable-hostname-propagation", ANY, "not needed"},
    {"keepalive set-sid singleton no-ready-msg", ANY, "not needed"},
    {"allow-run-as-root", ANY, "not needed: root may run jobs"},
    {"leave-session-attached debug-daemons debug-daemons-file debug-devel slurmd-debug", "verbose",
     DAEMON_DEBUG},
    {"d", "verbose", "mpirun's -d is -vv; srun's -d TYPE:JOB is for the scheduler"},
    {"report-pid", ANY, "not supported: the shell has the process id in $!"},
    {"report-uri ompi-server nameserver dvm dvm-uri hnp system-server system-server-first "
     "system-server-only wait-to-connect num-connect-retries do-not-connect daemonize namespace pid "
     "prte-server wait-server server-wait-time",
     ANY, NO_SERVER},
    {"test-suicide", ANY, "not supported: 'banyan sim' simulates failures"},
    {"tune", "env", "not supported: use -x for the variables that Open MPI or Intel MPI reads"},
    {"mca gmca omca gomca am amca", "env", MCA},
    {"prtemca gprtemca pmixmca gpmixmca", "env",
     "banyan is not PRRTE and reads no MCA parameters; for PMIx in the program use "
     "-x PMIX_MCA_NAME=VALUE"},
    {"dapl DAPL ib IB mx MX psm PSM psm2 PSM2 tmi TMI rdma RDMA gpu-support", "env",
     "the MPI library chooses its fabric: use -x with its variable, as FI_PROVIDER or UCX_TLS"},
    /* The scheduler's */
    {"A account acctg-freq b bb bbf begin cluster-constraint clusters M comment contiguous S core-spec "
     "cores-per-socket cpu-freq cpus-per-gpu deadline delay-boot dependency exact exclusive extra "
     "extra-node-info B external-launcher gid gpu-freq gpus G gpus-per-node gpus-per-socket gres "
     "gres-flags hold I immediate J job-name L licenses mail-type mail-user mcs-label mem-per-cpu "
     "mem-per-gpu oom-kill-step p partition power priority qos reboot reservation segment "
     "consolidate-segments sockets-per-node stepmgr switches thread-spec threads-per-core tmp uid "
     "wckey",
     "alloc", SCHEDULER},
    {"jobid het-group overlap", "alloc",
     "run banyan inside the job: salloc or sbatch sets what it needs, or use --alloc"},
    {"Z no-allocate", "host", "use --host LIST: nodes need not be allocated"},
    {"usage", "help", "use --help"},
};

const size_t foreign_options_count = sizeof(foreign_options) / sizeof(foreign_options[0]);

int foreign_options_has_name(const char *names, const char *name, size_t name_bytes)
{
    for (;;) {
        size_t bytes = strcspn(names, " ");

        if (bytes == name_bytes && memcmp(names, name, bytes) == 0)
            return 1;
        if (names[bytes] == '\0')
            return 0;
        names += bytes + 1;
    }
}

const struct foreign_option *foreign_options_find(const char *name, size_t name_bytes)
{
    for (size_t i = 0; i < foreign_options_count && name_bytes > 0; i++) {
        if (foreign_options_has_name(foreign_options[i].names, name, name_bytes))
            return &foreign_options[i];
    }
    return NULL;
}
