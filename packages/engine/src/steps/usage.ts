/** What the containers of a step use: looked at once a second while they run, the peaks kept. A container that ends within a second costs nothing. */
import type { Clock } from '@windlass/kit'
import type { Usage } from '@windlass/protocol'
import type { z } from 'zod'
import type { Docker } from '../docker/docker.ts'
import type { ContainerSample } from '../docker/stats.ts'

export type StepUsage = z.infer<typeof Usage>

const EVERY_MS = 1_000
/** Those who follow are told that often. */
const TELL_FIRST_MS = 5_000
const TELL_EVERY_MS = 15_000

export interface UsageMeter {
  /** Looks at a container until it is disposed. */
  watch(container: string): Disposable
  /** Peaks so far; undefined before the first look. */
  peaks(): StepUsage | undefined
  /** Peaks of one container. */
  peaksOf(container: string): StepUsage | undefined
}

export interface MeterOptions {
  readonly docker: Docker
  readonly clock: Clock
  /** Told now and then while something runs. */
  readonly onUsage: (usage: StepUsage) => void
}

export function openMeter({ docker, clock, onUsage }: MeterOptions): UsageMeter {
  const containers = new Map<string, StepUsage>()
  const startedAt = clock.monotonic()
  let toldAt = -Infinity

  async function look(container: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(EVERY_MS, signal)
      const sample = await docker.sampleContainer(container, signal)
      if (sample === undefined) continue
      containers.set(container, highest(containers.get(container), sample))
      const now = clock.monotonic()
      const usage = peaks()
      if (usage === undefined || now - startedAt < TELL_FIRST_MS || now - toldAt < TELL_EVERY_MS) continue
      toldAt = now
      onUsage(usage)
    }
  }

  function peaks(): StepUsage | undefined {
    const all = [...containers.values()]
    return all.length === 0 ? undefined : all.reduce(add)
  }

  return {
    watch(container) {
      const over = new AbortController()
      look(container, over.signal).catch(() => undefined)
      return { [Symbol.dispose]: () => over.abort(OVER) }
    },
    peaks,
    peaksOf: (container) => containers.get(container),
  }
}

/** One for all: an error with its stack for every container would be dear. */
const OVER = new DOMException('the container is gone', 'AbortError')

function highest(before: StepUsage | undefined, sample: ContainerSample): StepUsage {
  const peak = Math.max(before?.memoryPeakBytes ?? 0, sample.memoryPeakBytes ?? sample.memoryBytes)
  return {
    memoryPeakBytes: peak,
    ...(sample.memoryLimitBytes !== undefined && { memoryLimitBytes: sample.memoryLimitBytes }),
    cpuMs: sample.cpuMs,
    readBytes: sample.readBytes,
    writtenBytes: sample.writtenBytes,
  }
}

/** Containers of one step come one after the other: the highest memory, and the sum of the rest. */
function add(a: StepUsage, b: StepUsage): StepUsage {
  const limit = Math.max(a.memoryLimitBytes ?? 0, b.memoryLimitBytes ?? 0)
  return {
    memoryPeakBytes: Math.max(a.memoryPeakBytes ?? 0, b.memoryPeakBytes ?? 0),
    ...(limit > 0 && { memoryLimitBytes: limit }),
    cpuMs: (a.cpuMs ?? 0) + (b.cpuMs ?? 0),
    readBytes: (a.readBytes ?? 0) + (b.readBytes ?? 0),
    writtenBytes: (a.writtenBytes ?? 0) + (b.writtenBytes ?? 0),
  }
}
