/**
 * The facts that the daemon's pod reports of its disk: `key=value` pairs separated by `/`, as the target of a link. The pod writes it and
 * the engine reads it through the Docker API, which adds folders in front. No value contains a `/` or has more than 100 characters.
 */
import { CLEAN_VARIABLES } from './settings.ts'

export interface DiskUsage {
  /** Fractions in use: 0 to 1. A file system that does not count inodes has 0. */
  readonly disk: number
  readonly inodes: number
}

export interface DiskFacts {
  readonly usage: DiskUsage
  /** Size of the file system. */
  readonly totalBytes: number
  /** Name of the daemon's pod. */
  readonly pod: string
  /** Epoch seconds of the last clean-up, and the number of builds since. */
  readonly cleanedAt: number | undefined
  readonly buildsSince: number
  /** True if the previous clean-up ran out of time. */
  readonly leftOver: boolean
  /** Variables for `readCleanSettings`. */
  readonly variables: Readonly<Record<string, string>>
}

/** Reads the line; undefined if it is not one. On a full disk the pod can write only the use; the rest is then taken from `before`. */
export function readDiskFacts(line: string, before?: DiskFacts): DiskFacts | undefined {
  const now = parseFacts(line)
  return now === undefined || before === undefined || now.pod !== '' ? now : { ...before, usage: now.usage }
}

function parseFacts(line: string): DiskFacts | undefined {
  const values = new Map(line.split('/').map((pair) => splitPair(pair.trim())))
  const number = (key: string): number | undefined => {
    const value = Number(values.get(key) ?? '')
    return values.get(key) && Number.isFinite(value) && value >= 0 ? value : undefined
  }
  const total = number('kb_total')
  const used = number('kb_used')
  const free = number('kb_free')
  if (total === undefined || used === undefined || free === undefined) return undefined
  const names: readonly string[] = CLEAN_VARIABLES
  return {
    usage: { disk: share(used, free), inodes: share(number('inodes_used') ?? 0, number('inodes_free') ?? 0) },
    totalBytes: total * 1024,
    pod: values.get('pod') ?? '',
    cleanedAt: number('cleaned_at'),
    buildsSince: number('builds_since') ?? 0,
    leftOver: values.get('left_over') === '1',
    variables: Object.fromEntries([...values].filter(([key]) => names.includes(key))),
  }
}

function splitPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}

function share(used: number, free: number): number {
  return used + free === 0 ? 0 : used / (used + free)
}
