/**
 * The first exchange with a script. A container that ends within milliseconds can lose all of its output: when it has ended, the client of containerd cancels
 * each output that the daemon has not finished to open (`task.Delete`, and `OpenFifo` of containerd/fifo). So a script greets on both outputs and waits for a
 * line on its standard input. When the greetings have arrived, both outputs are open.
 */
import type { OutputPart } from '../docker/demux.ts'

const TEXT = Buffer.from('\0windlass\0')

/** Commands before those of the user, in the syntax of every shell. Afterwards standard input is empty, as without them. */
export const GREET = String.raw`printf '\000windlass\000'; printf '\000windlass\000' >&2; read -r _; exec </dev/null`

/** Takes the greetings out of the output of one container. */
export class Greeting {
  /** Number of bytes of the greeting that each output still has to bring. */
  readonly #left = new Map<OutputPart['source'], number>([
    [1, TEXT.length],
    [2, TEXT.length],
  ])
  readonly #heard = Promise.withResolvers<void>()

  /** Resolves when both outputs have brought their greeting, or something else: then the shell of the script did not run. */
  get heard(): Promise<void> {
    return this.#heard.promise
  }

  /** Returns the output without greetings. */
  strip(parts: readonly OutputPart[]): readonly OutputPart[] {
    if (this.#left.size === 0) return parts
    const rest = parts.map((part) => this.#stripOne(part)).filter(({ bytes }) => bytes.length > 0)
    if (this.#left.size === 0) this.#heard.resolve()
    return rest
  }

  #stripOne(part: OutputPart): OutputPart {
    const { source, bytes } = part
    const left = this.#left.get(source)
    if (left === undefined) return part
    const from = TEXT.length - left
    const length = Math.min(left, bytes.length)
    const isGreeting = bytes.subarray(0, length).equals(TEXT.subarray(from, from + length))
    if (isGreeting && length < left) this.#left.set(source, left - length)
    else this.#left.delete(source)
    if (isGreeting) return { source, bytes: bytes.subarray(length) }
    // The part of a greeting that came before belongs to the output as well.
    return { source, bytes: Buffer.concat([TEXT.subarray(0, from), bytes]) }
  }
}
