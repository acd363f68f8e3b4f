/** The scripts by which shells ask. None of them lets the shell expand a word of an answer. */

export const SCRIPTS: Readonly<Record<string, (name: string) => string>> = { bash, zsh, fish, powershell };

/** As the name of a shell function. */
function functionOf(name: string): string {
  return `_${name.replaceAll('-', '_')}`;
}

function bash(name: string): string {
  const own = functionOf(name);
  return `# ${name} completion for bash. In ~/.bashrc: source <(${name} completion bash)
${own}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "=$current" 2>/dev/null)
}
complete -o default -F ${own} ${name}
`;
}

function zsh(name: string): string {
  const own = functionOf(name);
  return `#compdef ${name}
# ${name} completion for zsh. In ~/.zshrc: source <(${name} completion zsh)
${own}() {
  local -a items
  local word about
  while IFS=$'\\t' read -r word about; do
    items+=("\${word//:/\\\\:}:$about")
  done < <("\${words[1]}" completion words -- "\${(@)words[2,CURRENT-1]}" "=\${words[CURRENT]}" 2>/dev/null)
  (( \${#items} )) && _describe '${name}' items || _files
}
compdef ${own} ${name}
`;
}

function fish(name: string): string {
  const own = functionOf(name);
  return `# ${name} completion for fish. Once: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function ${own}
  set -l words (commandline -opc)
  set -l current (commandline -ct | string collect --allow-empty)
  $words[1] completion words -- $words[2..-1] "=$current" 2>/dev/null
end
complete -c ${name} -a '(${own})'
`;
}

function powershell(name: string): string {
  return `# ${name} completion for PowerShell. In $PROFILE: ${name} completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName ${name} -ScriptBlock {
  param($current, $line, $cursor)
  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.Extent.Text })
  $words = @($before | Select-Object -Skip 1)
  & $before[0] completion words -- @words "=$current" 2>$null | ForEach-Object {
    $word, $about = $_ -split "\`t", 2
    if (-not $about) { $about = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $about)
  }
}
`;
}
