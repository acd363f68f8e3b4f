/** `spine mcp …` and `spine skill …`: what agents that know nothing of Spine are given. */

import { Argument, type Command, Option } from 'commander';
import { type Act, declare } from './command.ts';

export function declareForAgents(program: Command, act: Act): void {
  const mcp = declare(program, 'mcp', 'Speak the Model Context Protocol on standard input and output.', [
    ['spine mcp', 'what an MCP client starts; the server is found as for any command'],
    ['spine mcp --as head', 'with the token of the head; that of a worker unless said'],
    ['spine mcp install claude-code', 'let Claude Code use it'],
  ]);
  mcp.action(act(async () => (await import('./commands/mcp.ts')).serveMcp));
  declare(mcp, 'install', 'Write the entry of this server where an MCP client looks for it.', [
    ['spine mcp install cursor --dry-run', 'print what would be written'],
    ['spine mcp install claude-code --project', 'for this folder alone'],
  ])
    .addArgument(new Argument('<client>', 'who is to use it').choices(['claude-code', 'openclaw', 'cursor']))
    .option('--project', 'in the folder where you are, as opposed to your home')
    .option('--name <name>', 'what the client calls it', 'spine')
    .option(
      '--stdio',
      'let the client start spine mcp, with the token of a worker of this machine or that of --as',
    )
    .option('--with-token', 'write the token itself, not the name of the variable that holds it')
    .option('--dry-run', 'show it, and write nothing')
    .action(act(async () => (await import('./commands/mcp-install.ts')).installMcp));
  const skill = declare(program, 'skill', 'What agents read to work with Spine.', [
    ['spine skill install', 'where Claude Code looks for skills'],
  ]);
  declare(skill, 'install', 'Put the page for agents where they look for skills.', [
    ['spine skill install --for openclaw', 'where OpenClaw looks'],
    ['spine skill install --project', 'in the folder where you are'],
  ])
    .addOption(
      new Option('--for <client>', 'who is to read it')
        .choices(['claude-code', 'openclaw', 'cursor'])
        .default('claude-code'),
    )
    .option('--project', 'in the folder where you are, as opposed to your home')
    .option('--dry-run', 'say where, and write nothing')
    .action(act(async () => (await import('./commands/mcp-install.ts')).installSkill));
}
