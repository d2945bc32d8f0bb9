/** xterm in the looks of the page. What a program writes has no effect outside of it: no titles, no clipboard, no windows, and links only to http(s). */
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { toPaste } from './paste.ts'
import { readTheme, watchTheme } from './theme.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface ScreenOptions {
  /** Keys, pasted text, and answers to questions of the program. */
  readonly onKeys: (bytes: Uint8Array) => void
  /** Called with the first size and each other one. */
  readonly onSize: (size: Size) => void
  /** Asks whether a text of several lines is pasted. */
  readonly confirmPaste: (text: string, lines: number) => Promise<boolean>
  /** Shows where the link under the pointer leads; undefined after it. */
  readonly onLink: (address: string | undefined) => void
}

export interface Screen {
  /** Resolves when the bytes are shown. */
  write(bytes: Uint8Array): Promise<void>
  /** Lets the user type, or only read and select. */
  setTypable(isTypable: boolean): void
  readonly size: () => Size
  focus(): void
  blur(): void
}

const RESIZE_MS = 100
const SCROLLBACK_LINES = 10_000
const FONT = '"JetBrains Mono Variable"'
const FONT_PX = 13
/** Least contrast of text to its ground, as WCAG asks for. */
const CONTRAST = 4.5

/** Opens a screen in an element. */
export async function openScreen(root: HTMLElement, options: ScreenOptions): Promise<Screen> {
  // The cells have the width of this font, so it has to be there first. The screen also opens without it.
  await document.fonts.load(`${FONT_PX}px ${FONT}`).catch(() => undefined)
  const terminal = new Terminal({
    fontFamily: `${FONT}, ui-monospace, monospace`,
    fontSize: FONT_PX,
    lineHeight: 1.25,
    scrollback: SCROLLBACK_LINES,
    minimumContrastRatio: CONTRAST,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    disableStdin: true,
    theme: readTheme(),
    linkHandler: {
      activate: (event, address) => {
        if ((event.ctrlKey || event.metaKey) && isWebAddress(address)) window.open(address, '_blank', 'noopener,noreferrer')
      },
      hover: (_event, address) => options.onLink(isWebAddress(address) ? address : undefined),
      leave: () => options.onLink(undefined),
      allowNonHttpProtocols: false,
    },
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(root)
  terminal.onData((text) => options.onKeys(new TextEncoder().encode(text)))
  terminal.onBinary((text) => options.onKeys(Uint8Array.from(text, (character) => character.charCodeAt(0))))
  terminal.attachCustomKeyEventHandler((event) => !copiesSelection(terminal, event))
  root.addEventListener('paste', (event) => void paste(terminal, event, options), { capture: true })
  watchTheme(() => {
    terminal.options.theme = readTheme()
  })
  fitAsNeeded(root, () => {
    fit.fit()
    options.onSize({ columns: terminal.cols, rows: terminal.rows })
  })
  return {
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    setTypable(isTypable) {
      terminal.options.disableStdin = !isTypable
      terminal.options.cursorInactiveStyle = isTypable ? 'outline' : 'none'
    },
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    focus: () => terminal.focus(),
    blur: () => terminal.blur(),
  }
}

function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address)
}

/** Copies the selection for Ctrl-Shift-C, as other terminals do. Ctrl-C belongs to the program. */
function copiesSelection(terminal: Terminal, event: KeyboardEvent): boolean {
  const isCopy = event.type === 'keydown' && event.ctrlKey && event.shiftKey && event.code === 'KeyC'
  if (!isCopy || !terminal.hasSelection()) return false
  event.preventDefault()
  void navigator.clipboard?.writeText(terminal.getSelection()).catch(() => undefined)
  return true
}

async function paste(terminal: Terminal, event: ClipboardEvent, { confirmPaste }: ScreenOptions): Promise<void> {
  event.preventDefault()
  event.stopPropagation()
  if (terminal.options.disableStdin === true) return
  const { text, lines } = toPaste(event.clipboardData?.getData('text/plain') ?? '')
  if (text === '' || (lines > 1 && !(await confirmPaste(text, lines)))) return
  terminal.paste(text)
}

/** Calls `change` at once, and after the element has had another size for a moment. */
function fitAsNeeded(root: HTMLElement, change: () => void): void {
  change()
  let timer: ReturnType<typeof setTimeout> | undefined
  new ResizeObserver(() => {
    clearTimeout(timer)
    timer = setTimeout(change, RESIZE_MS)
  }).observe(root)
}
