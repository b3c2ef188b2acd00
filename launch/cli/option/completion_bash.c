/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "launch/cli/option/completion_internal.h"

static const char bash_functions[] =
    "# _banyan_reply HEAD PART CANDIDATE...: the candidates that begin with PART, after HEAD, without what\n"
    "# precedes the last character that breaks words for readline.\n"
    "_banyan_reply() {\n"
    "    local head=$1 part=$2 candidate found=() breaks=${COMP_WORDBREAKS//[^:=]/} prefix=''\n"
    "    shift 2\n"
    "    [[ -z $breaks ]] || prefix=${cur%\"${cur##*[\"$breaks\"]}\"}\n"
    "    for candidate; do\n"
    "        case $candidate in\n"
    "        @file) mapfile -t -O ${#found[@]} found < <(compgen -f -- \"$part\") ;;\n"
    "        @directory) mapfile -t -O ${#found[@]} found < <(compgen -d -- \"$part\") ;;\n"
    "        @program) mapfile -t -O ${#found[@]} found < <(compgen -c -- \"$part\") ;;\n"
    "        \"$part\"*) found+=(\"$candidate\") ;;\n"
    "        esac\n"
    "    done\n"
    "    [[ \" $* \" != *' @'* ]] || compopt -o filenames 2>/dev/null\n"
    "    for candidate in \"${found[@]}\"; do\n"
    "        candidate=$head$candidate\n"
    "        COMPREPLY+=(\"${candidate#\"$prefix\"}\")\n"
    "        [[ $candidate != *[:=] ]] || compopt -o nospace 2>/dev/null\n"
    "    done\n"
    "}\n"
    "\n"
    "# _banyan_value HEAD PART: of the value; of a list with commas, the last item.\n"
    "_banyan_value() {\n"
    "    local head=$1 part=$2\n"
    "    if [[ $value != *@* && $part == *,* ]]; then\n"
    "        head+=${part%\"${part##*,}\"}\n"
    "        part=${part##*,}\n"
    "    fi\n"
    "    _banyan_reply \"$head\" \"$part\" $value\n"
    "}\n"
    "\n"
    "_banyan() {\n"
    "    local IFS=$' \\t\\n' line=$COMP_LINE all=() word i cur\n"
    "    local verb='' option='' program='' words='' options='' value=''\n"
    "    COMPREPLY=()\n"
    "    # The words as the program gets them: readline also breaks them at ':' and '='.\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if ((i > 0)) && [[ $line == [![:blank:]]* ]]; then\n"
    "            all[${#all[@]}-1]+=$word\n"
    "        else\n"
    "            all+=(\"$word\")\n"
    "        fi\n"
    "        line=${line#\"${line%%[![:blank:]]*}\"}\n"
    "        line=${line#\"$word\"}\n"
    "    done\n"
    "    cur=${all[${#all[@]}-1]}\n"
    "    for word in \"${all[@]:1:${#all[@]}-2}\"; do\n"
    "        # One dash before a long name is the same as two.\n"
    "        [[ $word != -[!-]?* ]] || word=-$word\n"
    "        if [[ -n $option ]]; then\n"
    "            option=''\n"
    "        elif [[ -n $program ]]; then\n"
    "            [[ $word != : ]] || program=''\n"
    "        elif [[ $word == -* ]]; then\n"
    "            ! _banyan_table \"${verb:-run}\" \"$word\" || option=$word\n"
    "        elif [[ -z $verb ]]; then\n"
    "            verb=$word\n"
    "        else\n"
    "            _banyan_table \"$verb\" ''\n"
    "            [[ $words != *@program* ]] || program=$word\n"
    "        fi\n"
    "    done\n"
    "    if [[ -n $program ]]; then\n"
    "        compopt -o default 2>/dev/null\n"
    "    elif [[ -n $option ]]; then\n"
    "        _banyan_table \"${verb:-run}\" \"$option\"\n"
    "        _banyan_value '' \"$cur\"\n"
    "    elif [[ $cur == --*=* ]]; then\n"
    "        ! _banyan_table \"${verb:-run}\" \"${cur%%=*}\" || _banyan_value \"${cur%%=*}=\" \"${cur#*=}\"\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _banyan_table \"${verb:-run}\" ''\n"
    "        _banyan_reply '' \"$cur\" $options\n"
    "    elif [[ -z $verb ]]; then\n"
    "        _banyan_reply '' \"$cur\" $_banyan_verbs\n"
    "    else\n"
    "        _banyan_table \"$verb\" ''\n"
    "        _banyan_reply '' \"$cur\" $words\n"
    "    fi\n"
    "}\n"
    "complete -F _banyan banyan\n";

/* Words and what stands for those of the machine, in single quotes. */
static void put_value(const char *text, const char *choices, struct buffer *out)
{
    struct completion_value value;

    completion_value_read(text, choices, &value);
    buffer_printf(out, "'%s%s%s%s'", buffer_string(&value.words), value.files ? " @file" : "",
                  value.directories ? " @directory" : "", value.programs ? " @program" : "");
    completion_value_fini(&value);
}

static void put_names(const struct completion_verb *verb, struct buffer *out)
{
    const struct option_rule *rule = verb->rules;

    buffer_append_string(out, "        options='");
    for (; rule != NULL && rule->kind != OPTION_END; rule++) {
        if (!completion_is_option(verb->rules, rule))
            continue;
        if (rule->letter != '\0')
            buffer_printf(out, "-%c ", rule->letter);
        buffer_printf(out, "--%s ", rule->name);
    }
    buffer_append_string(out, "'\n");
}

/* The patterns of an option: its letter, its name, and its other names. */
static void put_patterns(const struct option_rule *rule, struct buffer *out)
{
    const char *alias = rule->aliases;

    buffer_append_string(out, "        ");
    if (rule->letter != '\0')
        buffer_printf(out, "-%c | ", rule->letter);
    buffer_printf(out, "--%s", rule->name);
    while (alias != NULL && *alias != '\0') {
        size_t bytes = strcspn(alias, " ");

        buffer_printf(out, " | --%.*s", (int)bytes, alias);
        alias += bytes + (alias[bytes] == ' ');
    }
    buffer_append_string(out, ") ");
}

static void put_verb(const struct completion_verb *verb, struct buffer *out)
{
    const struct option_rule *rule = verb->rules;

    buffer_printf(out, "    %s)\n        words=", verb->name);
    put_value(verb->words, NULL, out);
    buffer_append_string(out, "\n");
    put_names(verb, out);
    buffer_append_string(out, "        case $2 in\n");
    for (; rule != NULL && rule->kind != OPTION_END; rule++) {
        if (!completion_is_option(verb->rules, rule) || rule->kind == OPTION_FLAG)
            continue;
        put_patterns(rule, out);
        buffer_append_string(out, "value=");
        put_value(rule->value, rule->choices, out);
        buffer_append_string(out, " ;;\n");
    }
    buffer_append_string(out, "        *) return 1 ;;\n        esac\n        ;;\n");
}

void completion_bash_print(const struct completion_verb *verbs, size_t count, struct buffer *out)
{
    buffer_append_string(
        out,
        "# Completion of banyan in bash: what 'banyan completion bash' prints.\n\n"
        "# _banyan_table VERB OPTION: sets the options of the verb, and the words that may follow\n"
        "# them. If the option takes a value, sets that, else fails.\n"
        "_banyan_table() {\n"
        "    words='' options='' value=''\n"
        "    case $1 in\n");
    for (size_t i = 0; i < count; i++)
        put_verb(&verbs[i], out);
    buffer_append_string(out, "    *) return 1 ;;\n    esac\n}\n_banyan_verbs='");
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, "%s%s", i > 0 ? " " : "", verbs[i].name);
    buffer_append_string(out, "'\n\n");
    buffer_append_string(out, bash_functions);
}
