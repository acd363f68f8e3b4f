/** A button below a text in a chat: what it says, and what it brings back when somebody presses it. */

export interface Button {
  readonly label: string;
  /** At most 64 bytes: more Telegram does not carry. */
  readonly data: string;
}

/** What was pressed. `choice` is the place of the answer among the question's choices. */
export type Press =
  | { readonly verb: 'approve' | 'reject'; readonly job: string }
  | { readonly verb: 'answer'; readonly question: string; readonly choice: number }
  | { readonly verb: 'raise' | 'tomorrow' | 'hold'; readonly typeNo: number; readonly dayAt: number };

export function approvalButtons(job: string): readonly Button[] {
  return [
    { label: 'Approve', data: `approve:${job}` },
    { label: 'Reject', data: `reject:${job}` },
  ];
}

/** A button for each choice; none where the answer has to be written. */
export function answerButtons(question: string, choices: readonly string[] | null): readonly Button[] {
  return (choices ?? []).map((label, choice) => ({ label, data: `answer:${question}:${choice}` }));
}

/** What may be done about a budget that is used up, on the day on which it was. */
export function budgetButtons(typeNo: number, dayAt: number): readonly Button[] {
  return [
    { label: 'As much again', data: `raise:${typeNo}:${dayAt}` },
    { label: 'Tomorrow', data: `tomorrow:${typeNo}:${dayAt}` },
    { label: 'Stay paused', data: `hold:${typeNo}:${dayAt}` },
  ];
}

/** Null when no button of ours brings that. */
export function pressOf(data: string): Press | null {
  const [, deed, typeNo, dayAt] = /^(raise|tomorrow|hold):(\d{1,15}):(\d{1,15})$/.exec(data) ?? [];
  if (deed === 'raise' || deed === 'tomorrow' || deed === 'hold')
    return { verb: deed, typeNo: Number(typeNo), dayAt: Number(dayAt) };
  const [, verb, id, choice] = /^(approve|reject|answer):([\w-]{1,50})(?::(\d{1,3}))?$/.exec(data) ?? [];
  if (id === undefined) return null;
  if (verb === 'answer') return choice === undefined ? null : { verb, question: id, choice: Number(choice) };
  return choice === undefined ? { verb: verb === 'approve' ? 'approve' : 'reject', job: id } : null;
}
