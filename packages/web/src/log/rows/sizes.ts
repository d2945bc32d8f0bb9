/**
 * The size of the view, and the width of the widest row so far. The browser reports them after it has laid out a frame; reading them while rows are written
 * would make it lay out at once.
 */
export class Sizes {
  readonly #spacer: HTMLElement
  #height: number
  #width: number
  /** Width of the widest row. Pixels; 0 if it fits into the view. */
  #widest = 0
  /** False while rows wrap. */
  #isKept: boolean

  constructor(
    { scroller, spacer, rows }: { readonly scroller: HTMLElement; readonly spacer: HTMLElement; readonly rows: HTMLElement },
    { wraps, signal, changed }: { readonly wraps: boolean; readonly signal: AbortSignal; readonly changed: () => void },
  ) {
    this.#spacer = spacer
    this.#isKept = !wraps
    this.#height = scroller.clientHeight
    this.#width = scroller.clientWidth
    const observer = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries)
        if (target === rows) this.#widen(contentRect.width)
        else {
          this.#height = Math.round(contentRect.height)
          this.#width = contentRect.width
          changed()
        }
    })
    observer.observe(scroller)
    observer.observe(rows)
    signal.addEventListener('abort', () => observer.disconnect())
  }

  /** Height of the view. Pixels. */
  get height(): number {
    return this.#height
  }

  /** Forgets the widest row when wrapping changes: the width of the longest line must not remain that of wrapped lines. */
  reset(wraps: boolean): void {
    this.#isKept = !wraps
    this.#widest = 0
    this.#spacer.style.width = ''
  }

  /** Keeps the length of the horizontal bar while the widest row is out of view. */
  #widen(width: number): void {
    if (!this.#isKept || width <= Math.max(this.#widest, this.#width)) return
    this.#widest = width
    this.#spacer.style.width = `${width}px`
  }
}
