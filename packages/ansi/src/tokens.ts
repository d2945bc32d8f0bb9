/** Lines of output as tokens: parts of the visible text with one style. The texts of the tokens of a line are its `visibleText`. */
import { Cells, MOVES } from './cells.ts'
import { styleAfter, type Style } from './colors.ts'
import { webAddress, splitAddresses } from './addresses.ts'
import { splitMarks } from './marks.ts'
import { CONTROLS, SEQUENCE } from './sequences.ts'

export interface Token {
  readonly text: string
  readonly style: Style
  /** Address that the text links to, http or https. */
  readonly link?: string
  /** True for a character that is invisible or changes the direction of text. A page shows its code point instead. */
  readonly isMark?: true
}

export interface TokenLine {
  readonly tokens: readonly Token[]
  /** Style at the start of the next line. */
  readonly style: Style
  /** Number of times the line was overwritten, by carriage returns, backspaces or moves. */
  readonly updates: number
}

/** What is in force where text is written. */
interface Pen {
  readonly style: Style
  readonly link?: string
}

/** Text with what is in force where it is written, and the command that follows it. */
interface Piece {
  readonly text: string
  readonly look: Pen
  /** A control character, or the final character of a CSI sequence; empty for other sequences and at the end of the line. */
  readonly command: string
  readonly parameter: string
}

/** Returns the tokens of a line without its line feed. `style` is in force at its start. A link ends with its line. */
export function tokenizeLine(line: string, style: Style = ''): TokenLine {
  const unix = line.endsWith('\r') ? line.slice(0, -1) : line
  if (!CONTROLS.test(unix)) return { tokens: finish([{ text: unix, look: { style } }]), style, updates: 0 }
  const pieces = readPieces(unix, style)
  const after = pieces.at(-1)?.look.style ?? style
  // Most lines have colors only. Their text needs no cells.
  if (!pieces.some(({ command }) => MOVES.has(command))) return { tokens: finish(pieces), style: after, updates: 0 }
  const cells = new Cells<Pen>({ style: '' })
  for (const { text, look, command, parameter } of pieces) {
    cells.write(text, look)
    cells.move(command, parameter)
  }
  return { tokens: finish(cells.runs()), style: after, updates: cells.updates }
}

/** Returns the pieces of a line. The last one has the pen at the end of the line. */
function readPieces(line: string, style: Style): Piece[] {
  const pieces: Piece[] = []
  let look: Pen = { style }
  let from = 0
  for (const match of line.matchAll(SEQUENCE)) {
    const [sequence, parameter = '', final = '', control = ''] = match
    pieces.push({ text: line.slice(from, match.index), look, command: final === '' ? control : final, parameter })
    from = match.index + sequence.length
    look = penAfter(sequence, look)
  }
  pieces.push({ text: line.slice(from), look, command: '', parameter: '' })
  return pieces
}

// oxlint-disable-next-line no-control-regex
const ONE_COLOR = /^\u001B\[([\d;:]*)m$/
/** OSC 8: a link. Captures the address, which is empty at the end of the text of the link. */
// oxlint-disable-next-line no-control-regex
const LINK = /^\u001B\]8;[^;]*;(.*?)(?:\u0007|\u001B\\)$/s

function penAfter(sequence: string, pen: Pen): Pen {
  const parameters = ONE_COLOR.exec(sequence)?.[1]
  if (parameters !== undefined) return { ...pen, style: styleAfter(parameters, pen.style) }
  const address = LINK.exec(sequence)?.[1]
  if (address === undefined) return pen
  const link = webAddress(address)
  return link === undefined ? { style: pen.style } : { style: pen.style, link }
}

/** Joins runs of the same look, and splits them at marks and addresses. */
function finish(runs: Iterable<{ text: string; look: Pen }>): Token[] {
  const joined: { text: string; look: Pen }[] = []
  for (const run of runs) {
    const last = joined.at(-1)
    if (last !== undefined && last.look.style === run.look.style && last.look.link === run.look.link) last.text += run.text
    else if (run.text !== '') joined.push({ text: run.text, look: run.look })
  }
  return joined.flatMap(({ text, look }) => splitMarks(text).flatMap((part) => toTokens(part, look)))
}

function toTokens({ text, isMark }: { text: string; isMark: boolean }, look: Pen): Token[] {
  if (isMark) return [{ text, ...look, isMark }]
  if (look.link !== undefined) return [{ text, ...look }]
  return splitAddresses(text).map((part) => ({ ...look, ...part }))
}
