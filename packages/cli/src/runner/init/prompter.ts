/** Prompts on the terminal. Every prompt has a default, which is used without a terminal. */
import { fault } from '@windlass/kit/faults'
import { textFor } from '../../follow/line-splitter.ts'

export interface Prompter {
  /** True if the user is prompted. */
  readonly isInteractive: boolean
  choose(question: string, choice: { options: readonly string[]; initial: string }): Promise<string>
  text(question: string, initial: string): Promise<string>
  confirm(question: string, initial: boolean): Promise<boolean>
}

/** Uses the defaults. */
export const defaultPrompter: Prompter = {
  isInteractive: false,
  choose: async (_, { initial }) => initial,
  text: async (_, initial) => initial,
  confirm: async (_, initial) => initial,
}

/** Prompts on standard error, because standard output is for the result. Ctrl-C throws `usage`. */
export function terminalPrompter(): Prompter {
  const output = process.stderr
  /** Questions name files, branches and other things that somebody else has named. */
  const safe = (text: string): string => textFor({ isTTY: true }, text)
  const answer = async <T>(asked: Promise<T>): Promise<Exclude<T, symbol>> => {
    const given = await asked
    if (isAnswer(given)) return given
    throw fault('usage', { message: 'Canceled; nothing was changed.', hint: 'Run the command again at any time.' })
  }
  return {
    isInteractive: true,
    async choose(message, { options, initial }) {
      const { select } = await import('@clack/prompts')
      return answer(
        select({
          message: safe(message),
          output,
          initialValue: initial,
          options: options.map((value) => ({ value, label: safe(value) })),
        }),
      )
    },
    async text(message, initial) {
      const { text } = await import('@clack/prompts')
      return (
        (await answer(text({ message: safe(message), output, placeholder: safe(initial), defaultValue: initial }))) || initial
      )
    },
    async confirm(message, initial) {
      const prompts = await import('@clack/prompts')
      return answer(prompts.confirm({ message: safe(message), output, initialValue: initial }))
    },
  }
}

/** Asks before something is deleted. Throws `usage` unless the answer is yes. */
export type ConfirmDeletion = (question: string, verb?: 'delete' | 'remove') => Promise<void>

/** Returns what asks before a deletion; it asks nothing if an option has confirmed it. Throws `usage` if nobody can be asked. */
export function deletionConfirmation(isConfirmed: boolean, stderr: { readonly isTTY: boolean }): ConfirmDeletion {
  if (isConfirmed) return () => Promise.resolve()
  if (process.stdin.isTTY !== true || !stderr.isTTY)
    throw fault('usage', {
      message: 'Cannot ask for confirmation without a terminal.',
      hint: 'Add --yes to delete without confirmation.',
    })
  const prompter = terminalPrompter()
  return async (question, verb = 'delete') => {
    if (await prompter.confirm(question, false)) return
    throw fault('usage', { message: `Canceled: nothing was ${verb}d.`, hint: `Answer yes to ${verb}, or add --yes.` })
  }
}

/** Returns false for a symbol, which stands for Ctrl-C. */
function isAnswer<T>(given: T): given is Exclude<T, symbol> {
  return typeof given !== 'symbol'
}
