/** Questions to the person at the terminal. Every one has an answer that is taken where nobody is asked. */
import { fault } from '@windlass/kit/faults'

export interface Asker {
  /** True when there is a person. */
  readonly asks: boolean
  choose(question: string, choice: { options: readonly string[]; initial: string }): Promise<string>
  text(question: string, initial: string): Promise<string>
  yesNo(question: string, initial: boolean): Promise<boolean>
}

/** Takes the answers that are proposed. */
export const silentAsker: Asker = {
  asks: false,
  choose: async (_, { initial }) => initial,
  text: async (_, initial) => initial,
  yesNo: async (_, initial) => initial,
}

/** Asks on standard error, so that standard output stays the result. Ctrl-C throws `usage`. */
export function terminalAsker(): Asker {
  const output = process.stderr
  const answer = async <T>(asked: Promise<T>): Promise<Exclude<T, symbol>> => {
    const given = await asked
    if (isAnswer(given)) return given
    throw fault('usage', { message: 'Cancelled; nothing was changed.', hint: 'Call it again at any time.' })
  }
  return {
    asks: true,
    async choose(message, { options, initial }) {
      const { select } = await import('@clack/prompts')
      return answer(
        select({ message, output, initialValue: initial, options: options.map((value) => ({ value, label: value })) }),
      )
    },
    async text(message, initial) {
      const { text } = await import('@clack/prompts')
      return (await answer(text({ message, output, placeholder: initial, defaultValue: initial }))) || initial
    },
    async yesNo(message, initial) {
      const { confirm } = await import('@clack/prompts')
      return answer(confirm({ message, output, initialValue: initial }))
    },
  }
}

/** Ctrl-C is answered as a symbol. */
function isAnswer<T>(given: T): given is Exclude<T, symbol> {
  return typeof given !== 'symbol'
}
