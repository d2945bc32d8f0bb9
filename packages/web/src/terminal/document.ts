/** The elements of the document of a terminal: the screen, a line below it, and the question before a paste. */
import buttons from '../parts/button.module.css'
import styles from './terminal.module.css'

export interface TerminalDocument {
  readonly screen: HTMLElement
  /** Shows a sentence below the screen, or nothing. */
  say(text: string | undefined, tone?: Tone): void
  /** Shows a sentence in the place of the other one until it is called without one. */
  hint(text: string | undefined): void
  /** Asks whether a text of several lines is pasted. */
  confirmPaste(text: string, lines: number): Promise<boolean>
}

type Tone = 'plain' | 'bad'

/** Lines of a paste that the question shows. */
const SHOWN_LINES = 12

function make<K extends keyof HTMLElementTagNameMap>(tag: K, className = '', text = ''): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  element.className = className
  element.textContent = text
  return element
}

export function buildDocument(root: HTMLElement): TerminalDocument {
  root.className = styles['terminal'] ?? ''
  const screen = make('div', styles['screen'])
  const line = make('p', styles['line'])
  line.role = 'status'
  line.hidden = true
  root.append(screen, line)
  let said: { readonly text: string | undefined; readonly tone: Tone } = { text: undefined, tone: 'plain' }
  const show = (text: string | undefined, tone: Tone): void => {
    line.hidden = text === undefined
    line.dataset['tone'] = tone
    line.textContent = text ?? ''
  }
  return {
    screen,
    say(text, tone = 'plain') {
      said = { text, tone }
      show(text, tone)
    },
    hint: (text) => (text === undefined ? show(said.text, said.tone) : show(text, 'plain')),
    confirmPaste: (text, lines) => ask(root, text, lines),
  }
}

function ask(root: HTMLElement, text: string, lines: number): Promise<boolean> {
  const dialog = make('dialog', styles['dialog'])
  const title = make('h1', '', `Paste ${lines} lines?`)
  const note = make('p', styles['note'], 'A shell may run each line at once.')
  const shown = text.split(/\r\n|\r|\n/)
  const preview = make('pre', styles['preview'], shown.slice(0, SHOWN_LINES).join('\n'))
  if (shown.length > SHOWN_LINES) preview.textContent += `\n… ${shown.length - SHOWN_LINES} more`
  preview.tabIndex = 0
  const row = make('form', styles['buttons'])
  row.method = 'dialog'
  for (const [label, value, tone] of [
    ['Paste', 'paste', 'primary'],
    ['Cancel', '', 'plain'],
  ] as const) {
    const button = make('button', buttons['button'], label)
    button.value = value
    button.dataset['tone'] = tone
    row.append(button)
  }
  dialog.append(title, note, preview, row)
  dialog.setAttribute('aria-label', title.textContent ?? '')
  root.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'paste')
    })
  })
}
