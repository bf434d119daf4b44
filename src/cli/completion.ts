import { fileURLToPath } from 'node:url';
import { script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { toType } from '../shared/command-name.ts';

type Shell = 'bash' | 'zsh' | 'fish';

export function print(shell: Shell, { json }: { readonly json?: boolean }): void {
  const text = scriptFor(shell);
  console.log(json ? JSON.stringify({ shell, script: text }) : text);
}

/** The library adds a command that prints its scripts, which do not complete behind npx. */
const ofLibrary = 'completion-of-the-library';

/** Prints what can follow the words on a command line of this program. */
export function suggest(program: Command, words: string[]): void {
  const known = tab(program, { completionCommandName: ofLibrary });
  known.commands.delete(ofLibrary);
  known.parse(words);
}

/** The library's script for the name `trunkline`, made to complete `npx trunkline` too. */
function scriptFor(shell: Shell): string {
  const launcher = fileURLToPath(new URL('../trunkline.cjs', import.meta.url));
  const run = `'${process.execPath}' '${launcher}'`;
  const text = printed(() => script(shell, 'trunkline', run));
  return `# Made by ${toType(`completion ${shell}`)}.\n${adapters[shell](text)}`;
}

/** The library prints what it makes. */
function printed(work: () => void): string {
  const { log } = console;
  let text = '';
  console.log = (line: string) => {
    text += `${line}\n`;
  };
  try {
    work();
  } finally {
    console.log = log;
  }
  return text;
}

const adapters: Readonly<Record<Shell, (text: string) => string>> = {
  // The constants are read-only, so that a second script of the library, or the same once more, would print errors.
  bash: (text) => `${text.replace(/^readonly (\w+)=(\d+)$/gm, ': "$${$1:=$2}"')}
# bash has this only with the package bash-completion.
declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
}

__trunkline_npx() {
    [[ \${COMP_WORDS[1]} == trunkline && $COMP_CWORD -gt 1 ]] || return
    local before="\${COMP_LINE%%trunkline*}"
    COMP_LINE="\${COMP_LINE#"$before"}"
    ((COMP_POINT -= \${#before}, COMP_CWORD -= 1))
    COMP_WORDS=("\${COMP_WORDS[@]:1}")
    __trunkline_complete
}
complete -o default -F __trunkline_npx npx
`,
  zsh: (text) => `${text}
_trunkline_npx() {
    if [[ \${words[2]} == trunkline ]] && (( CURRENT > 2 )); then
        shift words
        (( CURRENT-- ))
        _trunkline
    else
        _default
    fi
}
compdef _trunkline_npx npx
`,
  fish: (text) => {
    const words = 'set -l args (commandline -opc)';
    const forNpx = text
      .split('\n')
      .filter((line) => /^complete .*-n /.test(line))
      .map((line) => line.replace('-c trunkline', '-c npx').replace("-n '", "-n '__trunkline_is_npx && "));
    return `${text.replace(words, `${words}\n    test "$args[1]" = npx; and set args $args[2..-1]`)}
function __trunkline_is_npx
    set -l args (commandline -opc)
    test "$args[2]" = trunkline
end
${forNpx.join('\n')}
`;
  },
};
