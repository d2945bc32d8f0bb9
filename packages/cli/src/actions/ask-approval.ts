/** Asks at the terminal whether a build may go on. */
import { createInterface } from 'node:readline/promises'
import type { PlanStep } from '@windlass/plan'
import type { Terminal } from '../printer.ts'

/** Asks until the answer is yes or no. Undefined when nobody sits at a terminal, or when `signal` ended the question. */
export async function askApproval(
  step: Pick<PlanStep, 'name' | 'title'>,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<'approved' | 'denied' | undefined> {
  if (!process.stdin.isTTY) {
    terminal.write(
      `Step ${step.name} waits for an approval. Answer ahead with --approve ${step.name} or --deny ${step.name}; else its time limit decides.\n`,
    )
    return undefined
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    for (;;) {
      const answer = await lines.question(
        `${terminal.style.yellow('?')} ${step.title} waits for an approval. Approve it? [y/n] `,
        {
          signal,
        },
      )
      if (/^y(es)?$/i.test(answer.trim())) return 'approved'
      if (/^no?$/i.test(answer.trim())) return 'denied'
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}
