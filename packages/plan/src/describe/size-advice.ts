/** What size of memory a step needs, from earlier builds. The command line and the web page say the same. */
import { formatBytes } from './usage.ts'

interface SizeFacts {
  readonly memoryLimitBytes: number
  /** Peaks of memory in earlier builds, 95th percentile. Bytes. */
  readonly memoryP95: number
  /** Number of builds whose memory was measured. */
  readonly builds: number
}

interface SizeAdvice {
  /** The size as documents write it, such as `800Mi`. */
  readonly size: string
  readonly text: string
}

/** Fewer builds give no advice. */
const LEAST_BUILDS = 5
/** Room above the usual peak. */
const ROOM = 1.2
const MEBIBYTE = 1_048_576
const GIBIBYTE = 1_073_741_824
/** Sizes below a gibibyte are rounded up to this, and larger ones to a quarter of a gibibyte. */
const STEP = 100 * MEBIBYTE

/** Returns the size that a step needs if that is less than what it asks for; undefined before five builds. */
export function adviseSize({ memoryLimitBytes, memoryP95, builds }: SizeFacts): SizeAdvice | undefined {
  if (builds < LEAST_BUILDS) return undefined
  const bytes = roundUp(memoryP95 * ROOM)
  if (bytes >= memoryLimitBytes) return undefined
  const size = formatSize(bytes)
  return {
    size,
    text: `Asks for ${formatBytes(memoryLimitBytes)}, used at most ${formatBytes(memoryP95)} in 95 % of ${builds} builds: \`memory: ${size}\` would do.`,
  }
}

function roundUp(bytes: number): number {
  const step = bytes <= 10 * STEP ? STEP : GIBIBYTE / 4
  return Math.ceil(bytes / step) * step
}

function formatSize(bytes: number): string {
  return bytes % GIBIBYTE === 0 ? `${bytes / GIBIBYTE}Gi` : `${bytes / MEBIBYTE}Mi`
}
