/** Keeps the focus of the keyboard in the page when the element that has it goes away. */

/** Time for a dialog that closes, or for a new screen, to give the focus to something else. Milliseconds. */
const GRACE_MS = 100

/**
 * Gives the focus to the content (`#main`) when the element that had it has been removed, or the screen has changed, and nothing else has taken the
 * focus, so that the next Tab continues there. Browsers give it to the body instead, and the next Tab then starts at an unknown place or leaves the
 * page. A page that has just been loaded starts at its top. Returns a function that stops this.
 */
export function watchLostFocus(): () => void {
  /** What had the focus last; before that, the content of the first screen. */
  let last: Element | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const content = (): HTMLElement | undefined => document.querySelector<HTMLElement>('#main') ?? undefined
  const isLost = (): boolean => document.activeElement === document.body && last?.isConnected === false
  const recover = (): void => {
    timer = undefined
    // Without content, the next change of the page comes here again.
    if (isLost()) content()?.focus({ preventScroll: true })
  }
  const remember = ({ target }: FocusEvent): void => {
    if (target instanceof Element) last = target
  }
  const observer = new MutationObserver(() => {
    last ??= content()
    if (timer === undefined && isLost()) timer = setTimeout(recover, GRACE_MS)
  })
  document.addEventListener('focusin', remember)
  observer.observe(document.body, { childList: true, subtree: true })
  return () => {
    document.removeEventListener('focusin', remember)
    observer.disconnect()
    clearTimeout(timer)
  }
}
