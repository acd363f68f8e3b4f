/** What an agent is told of a task: the words of the text, with its defaults for what the task does not say. */

export interface TaskText {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly workingDir: string;
  readonly description: string;
  readonly instructions: string | null;
  /** How tasks of its type are done; null where it has none. */
  readonly sop: string | null;
  readonly deliverables: string | null;
  readonly steps: readonly string[];
  /** Where the agent reaches the server. */
  readonly url: string;
  /** What it calls with: a token for this task alone, or the variable that has it. */
  readonly token: string;
}

export const TASK_WORKING_DIR = '/home/openclaw/.openclaw/workspace/';

export function taskPrompt(task: TaskText): string {
  return `You are a worker agent assigned to complete a task.

**Task ID**: ${task.id}
**Task Title**: ${task.title}
**Owner**: ${task.owner}
**Working Directory**: ${task.workingDir}

**Description**:
${task.description}

**Instructions**:
${task.instructions ?? 'Complete the task as described above.'}

${task.sop === null ? '' : `**How tasks of this type are done**:\n${task.sop}\n\n`}**Deliverables**:
${task.deliverables ?? 'Provide a summary of what was accomplished.'}

**Steps**:
${stepsText(task.steps)}

**Completion**:
When finished, update the task status to "review" or "done" by calling:
\`\`\`bash
curl -X PATCH ${task.url}/api/tasks/${task.id} \\
  -H "Content-Type: application/json" \\
  -H "Authorization: Bearer ${task.token}" \\
  -d '{"status": "review"}'
\`\`\`

Then report your findings.
`;
}

function stepsText(steps: readonly string[]): string {
  if (steps.length === 0) return '(No specific steps provided)';
  return steps.map((step, i) => `${i + 1}. ${step}`).join('\n');
}
