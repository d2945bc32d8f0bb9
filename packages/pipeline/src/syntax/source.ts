/** Converts offsets of a text to lines and columns. */

export interface Range {
  /** 0-based offsets; the end is after the last character. */
  readonly start: number
  readonly end: number
}

export interface Place {
  /** 1-based. */
  readonly line: number
  readonly column: number
}

/** The text of a document with its line starts. Columns count UTF-16 units, as in editors. */
export class SourceText {
  readonly text: string
  readonly file: string
  private readonly starts: number[] = [0]

  constructor(text: string, file: string) {
    this.text = text
    this.file = file
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.starts.push(at + 1)
  }

  placeOf(offset: number): Place {
    let low = 0
    let high = this.starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (this.starts[low] ?? 0) + 1 }
  }

  /** Returns the lines without line ends. */
  lines(): string[] {
    return this.text.split(/\r?\n/)
  }

  /** Returns one line without its line end. */
  line(line: number): string {
    return this.text.slice(this.lineStart(line), this.starts[line] ?? this.text.length).replace(/\r?\n$/, '')
  }

  lineStart(line: number): number {
    return this.starts[line - 1] ?? 0
  }
}
