/** Writes the text of a line into an element: text nodes and elements with classes, never markup. */
import { formatBytes } from '@windlass/plan'
import {
  codePointName,
  foreignHost,
  lookOf,
  showControls,
  tokenizeLine,
  type Look,
  type Style,
  type Theme,
  type Token,
} from '@windlass/ansi'
import styles from '../log.module.css'
import type { Match } from '../lines/search.ts'
import type { Line } from '../lines/source.ts'

export interface TextOptions {
  readonly theme: Theme
  readonly hits: readonly Match[] | undefined
  readonly current: Match | undefined
  readonly showsControls: boolean
}

const MAX_LOOKS = 1_000
const looks = new Map<string, Look>()

function look(style: Style, theme: Theme): Look {
  const key = `${theme} ${style}`
  const known = looks.get(key)
  if (known !== undefined) return known
  if (looks.size >= MAX_LOOKS) looks.clear()
  const found = lookOf(style, theme)
  looks.set(key, found)
  return found
}

/** Maximum number of tokens of a line that become elements. The rest is text. */
const MAX_TOKENS = 1_000

/** Replaces the content of the element. */
export function writeText(element: HTMLElement, line: Line, options: TextOptions): void {
  const { tokens, updates }: { readonly tokens: readonly Token[]; readonly updates: number } = options.showsControls
    ? { tokens: [{ text: showControls(line.text), style: '' }], updates: 0 }
    : tokenizeLine(line.text, line.style)
  const notes = [
    ...(updates > 1 ? [`${updates.toLocaleString('en')} updates`] : []),
    ...(line.cut > 0 ? [`… ${formatBytes(line.cut)} more`] : []),
  ]
  const plain = options.hits === undefined && notes.length === 0 ? plainText(tokens) : undefined
  if (plain !== undefined) return setText(element, plain)
  const nodes: Node[] = []
  let column = 0
  for (const token of tokens.slice(0, MAX_TOKENS)) {
    nodes.push(...toNodes(token, column, options))
    column += token.text.length
  }
  const rest = tokens.slice(MAX_TOKENS).map(({ text, isMark }) => (isMark === true ? codePointName(text) : text))
  element.replaceChildren(...nodes, rest.join(''), ...notes.map(note))
}

/** Returns the text of tokens that need no element, such as those of a line without colors. */
function plainText(tokens: readonly Token[]): string | undefined {
  const [first, second] = tokens
  if (first === undefined) return ''
  return second === undefined && first.style === '' && first.link === undefined && first.isMark !== true ? first.text : undefined
}

/** Sets a text. A text node that is there already stays, so that the browser computes no style for a new one. */
function setText(element: HTMLElement, text: string): void {
  const { firstChild } = element
  if (firstChild instanceof Text && firstChild.nextSibling === null) firstChild.data = text
  else element.textContent = text
}

function note(text: string): HTMLElement {
  const span = document.createElement('span')
  span.className = styles['note'] ?? ''
  span.textContent = text
  return span
}

/** Returns the nodes of a token, which the matches divide. */
function toNodes(token: Token, start: number, options: TextOptions): Node[] {
  const nodes: Node[] = []
  const end = start + token.text.length
  let from = start
  for (const hit of options.hits ?? []) {
    const [first, last] = [Math.max(from, hit.column), Math.min(end, hit.column + hit.length)]
    if (first >= last) continue
    if (first > from) nodes.push(styled(token, token.text.slice(from - start, first - start), options))
    const mark = document.createElement('mark')
    mark.className = (hit === options.current ? styles['current'] : styles['hit']) ?? ''
    mark.append(styled({ ...token, style: '' }, token.text.slice(first - start, last - start), options))
    nodes.push(mark)
    from = last
  }
  if (from < end) nodes.push(styled(token, token.text.slice(from - start), options))
  return nodes
}

function styled(token: Token, text: string, { theme }: TextOptions): Node {
  if (token.isMark) return invisible(text)
  if (token.style === '' && token.link === undefined) return document.createTextNode(text)
  const element = token.link === undefined ? document.createElement('span') : linkTo(token.link)
  element.textContent = text
  applyLook(element, look(token.style, theme))
  const host = foreignHost(token)
  if (host === undefined) return element
  const both = document.createElement('span')
  both.append(element, note(host))
  return both
}

function applyLook(element: HTMLElement, { color, background, bold, italic, underline, strike, hidden }: Look): void {
  if (color !== undefined) element.style.color = color
  if (background !== undefined) element.style.backgroundColor = background
  if (bold) element.style.fontWeight = '700'
  if (italic) element.style.fontStyle = 'italic'
  const lines = [underline ? 'underline' : '', strike ? 'line-through' : ''].filter((one) => one !== '')
  if (lines.length > 0) element.style.textDecorationLine = lines.join(' ')
  if (hidden) {
    element.classList.add(styles['hidden'] ?? '')
    element.title = 'A terminal hides this text.'
  }
}

function linkTo(address: string): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = address
  link.rel = 'noopener noreferrer'
  link.target = '_blank'
  link.tabIndex = -1
  return link
}

function invisible(character: string): HTMLElement {
  const span = document.createElement('span')
  span.className = styles['invisible'] ?? ''
  span.textContent = codePointName(character)
  return span
}
