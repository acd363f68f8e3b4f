/** `spine questions …`: what jobs have asked. */

import type { Command } from 'commander';
import { type Act, declare, whole } from './command.ts';

export function declareQuestions(program: Command, act: Act): void {
  const questions = declare(program, 'questions', 'What jobs have asked, and your answers.', [
    ['spine questions list', 'what waits for an answer'],
    ['spine questions answer 019a5c3e-… yes', 'the job goes on'],
  ]);
  declare(questions, 'list', 'List questions, newest first.', [
    ['spine questions list', 'those that nobody has answered'],
    ['spine questions list --all --job 12', 'all that one job has asked'],
  ])
    .alias('ls')
    .option('--all', 'those that were answered too')
    .option('--to <name>', 'only what this name or @alias is asked')
    .option('--job <job>', 'only what this job has asked')
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .option('--before <number>', 'go on where the last page ended', whole)
    .action(act(async () => (await import('./commands/questions.ts')).listQuestions));
  declare(questions, 'get', 'Show a question and what was answered.', [
    ['spine questions get 019a5c3e-…', 'the whole id'],
  ])
    .argument('<id>', 'of the question')
    .action(act(async () => (await import('./commands/questions.ts')).getQuestion));
  declare(questions, 'answer', 'Answer a question; the job goes on at once.', [
    ['spine questions answer 019a5c3e-… "Take the second one."', 'text'],
    [`spine questions answer 019a5c3e-… '{"day":"monday"}'`, 'JSON, where the question wants it'],
  ])
    .argument('<id>', 'of the question')
    .argument('<answer>', 'text or JSON; - for standard input')
    .action(act(async () => (await import('./commands/questions.ts')).answerQuestion));
}
