/**
 * Writes metrics in the text format of Prometheus, for processes whose metrics are computed at each scrape. `prom-client` adds 21 MB to a process, so
 * only those use it that keep histograms.
 */

export interface Metric {
  readonly name: string
  readonly help: string
  /** Default: `gauge`. */
  readonly type?: 'gauge' | 'counter'
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  /** Undefined: the sample is left out. */
  readonly value: number | undefined
}

/** Returns the metrics as text. Labels keep their order. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(toText).join('')
}

function toText({ name, help, type = 'gauge', samples }: Metric): string {
  const lines = samples.map(({ labels, value }) => (value === undefined ? '' : `${name}${toLabels(labels)} ${value}\n`))
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function toLabels(labels: Sample['labels'] = {}): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escape(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}
