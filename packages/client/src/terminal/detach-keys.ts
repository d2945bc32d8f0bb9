/** The keys that leave a terminal without ending its shell. */
const CTRL_P = 0x10
const CTRL_Q = 0x11
const TILDE = 0x7e
const DOT = 0x2e
const ENTER: readonly number[] = [0x0d, 0x0a]

/** Detects Ctrl-P Ctrl-Q, and `~.` at the start of a line, across chunks. */
export class DetachKeys {
  #held: number | undefined
  #isLineStart = true

  /** Returns the keys to pass on, and whether the user detached. */
  push(bytes: Uint8Array): { readonly keys: Uint8Array; readonly isDetached: boolean } {
    const out: number[] = []
    for (const byte of bytes) {
      if (this.#held !== undefined) {
        const isDetached = byte === (this.#held === CTRL_P ? CTRL_Q : DOT)
        if (!isDetached) out.push(this.#held)
        this.#held = undefined
        if (isDetached) return { keys: Uint8Array.from(out), isDetached: true }
      }
      if (byte === CTRL_P || (byte === TILDE && this.#isLineStart)) this.#held = byte
      else out.push(byte)
      this.#isLineStart = ENTER.includes(byte)
    }
    return { keys: Uint8Array.from(out), isDetached: false }
  }
}
