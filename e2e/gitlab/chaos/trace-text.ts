/** Reads a trace by its own rules, so that a mistake of the writer is not repeated in its checker. */

const LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ([\da-f]{2})[OE]([ +])([^\n]*)$/
/** Around a command that the shell of the job shows before it runs. */
const [SHOWN, SHOWN_END] = ['\u001B[32;1m$ ', '\u001B[0;m']
export const BEGIN = '>>> begin of output'
export const END = '<<< end of output'

export interface TraceText {
  /** Output of the script between its marks, without shown commands. Cut where the trace ends. */
  readonly output: string
  readonly lastLine: string
}

/** Returns the text of a trace, or what is wrong with its lines. */
export function readTrace(trace: Buffer): TraceText | string {
  const text = trace.toString('utf8')
  if (!text.endsWith('\n')) return 'the trace does not end with a line end'
  const lines = text.slice(0, -1).split('\n')
  /** Lines of stream 01. A line that continues the one before has no line end between them. */
  const work: string[] = []
  for (const line of lines) {
    const [, stream, mark, content = ''] = LINE.exec(line) ?? []
    if (stream === undefined) return `the line ${JSON.stringify(line.slice(0, 120))} has no time and stream`
    if (stream !== '01') continue
    if (mark === '+') work.push((work.pop() ?? '') + content)
    else work.push(content)
  }
  const from = work.indexOf(BEGIN)
  const to = work.indexOf(END)
  const between = from < 0 ? [] : work.slice(from + 1, to < 0 ? undefined : to)
  const output = between.filter((line) => !(line.startsWith(SHOWN) && line.endsWith(SHOWN_END))).map((line) => `${line}\n`)
  return { output: output.join(''), lastLine: lines.at(-1) ?? '' }
}
