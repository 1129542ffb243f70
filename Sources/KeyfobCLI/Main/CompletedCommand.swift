import ArgumentParser

/// The command tree for completion scripts: `Base`, with the global options before the verb too.
///
/// `Invocation` moves these options behind the verb, so the commands do not declare them there. A script made from the
/// commands alone would treat the value in `keyfob -k NAME` as a verb.
struct CompletedCommand<Base: ParsableCommand>: ParsableCommand {
    @OptionGroup var global: GlobalOptions

    static var configuration: CommandConfiguration {
        let base = Base.configuration
        return CommandConfiguration(
            commandName: base.commandName, abstract: base.abstract, version: base.version,
            shouldDisplay: base.shouldDisplay, subcommands: base.subcommands.map { completed($0) },
            aliases: base.aliases)
    }

    private static func completed<Command: ParsableCommand>(_ command: Command.Type) -> any ParsableCommand.Type {
        Command.configuration.subcommands.isEmpty ? Command.self : CompletedCommand<Command>.self
    }
}

extension CompletedCommand {
    /// The completion script for `shell`.
    static func script(for shell: CompletionShell) -> String {
        let script = completionScript(for: shell)
        guard shell == .bash else { return script }
        // Without this change, bash would offer all options in place of a verb, even if the user typed no hyphen.
        return
            script
            .replacing(#" || "${positional_number}" -eq -1 ]]"#, with: " ]]")
            // The RETURN trap restores shell options. It must remove itself, otherwise it would run again at every
            // later return. `set -e` is turned off until then, because the function would end the shell with it.
            .replacing(
                #"trap "${state//$'\n'/;}" RETURN"#,
                with: #"""
                    # Command substitutions turn it off.
                        local errexit=""
                        [[ "$-" != *e* ]] || errexit="set -e"
                        trap "${state//$'\n'/;};trap - RETURN;${errexit}" RETURN
                    """#)
            .replacing("set +o history +o posix", with: "set +o history +o posix +o errexit")
            .replacing(" -F _keyfob keyfob", with: " -F _keyfob_whole_words keyfob") + "\n" + wholeWords
    }

    /// A bash function that completes words with colons and equals signs, such as the name `git/https://host`.
    ///
    /// readline ends a word at each of these characters, and completes and replaces only the part after the last one.
    private static var wholeWords: String {
        #"""
        _keyfob_whole_words() {
            local rest="${COMP_LINE}" trimmed word prefix
            local -a words=()
            local -i index cword=0
            if [[ "${COMP_LINE:COMP_POINT:1}" = [![:space:]] ]]; then
                # The cursor is inside a word, whose rest must stay.
                _keyfob "${@}"
                return
            fi
            for index in "${!COMP_WORDS[@]}"; do
                word="${COMP_WORDS[index]}"
                trimmed="${rest#"${rest%%[![:space:]]*}"}"
                # There is no space before it: readline has split the word at such a sign.
                if [[ "${#words[@]}" -gt 1 && -n "${word}" && "${trimmed}" = "${rest}"
                    && ("${word}" = [:=]* || "${words[${#words[@]} - 1]}" = *[:=]) ]]; then
                    words[${#words[@]} - 1]+="${word}"
                else
                    words+=("${word}")
                fi
                rest="${trimmed#"${word}"}"
                [[ "${index}" -ne "${COMP_CWORD}" ]] || cword="${#words[@]}-1"
            done
            if [[ "${#words[@]}" -eq "${#COMP_WORDS[@]}" ]]; then
                _keyfob "${@}"
                return
            fi
            local current="${words[cword]}"
            if [[ "${current}" = -*=* ]]; then
                # Treat the sign as a space.
                words=("${words[@]:0:cword}" "${current%%=*}" "${current#*=}" "${words[@]:cword+1}")
                current="${current#*=}"
                cword+=1
            fi
            local -a COMP_WORDS=("${words[@]}")
            local -i COMP_CWORD="${cword}"
            local COMP_LINE="${words[*]:0:cword+1}"
            local -i COMP_POINT="${#COMP_LINE}"
            _keyfob "${1}" "${current}" "${words[cword - 1]}"
            local breaks="${COMP_WORDBREAKS//[^:=]/}"
            [[ -n "${breaks}" && "${current}" = *["${breaks}"]* ]] || return 0
            prefix="${current%"${current##*["${breaks}"]}"}"
            # The candidates are not quoted yet.
            prefix="${prefix//[\\\'\"]/}"
            COMPREPLY=("${COMPREPLY[@]#"${prefix}"}")
        }
        """#
    }
}
