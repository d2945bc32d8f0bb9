/**
 * Measures the containers of a step: samples them once a second while they run and keeps the peaks. A container that ends within a second costs
 * nothing.
 */
import { defined, type Clock } from '@windlass/kit'
import type { Usage } from '@windlass/protocol'
import type { z } from 'zod'
import type { StepSample } from '../attempt/observer.ts'
import type { Docker } from '../docker/docker.ts'
import type { ContainerSample } from '../docker/stats.ts'

export type StepUsage = z.infer<typeof Usage>

const EVERY_MS = 1_000
/** Intervals of updates for followers. Milliseconds. */
const FIRST_UPDATE_MS = 5_000
const UPDATE_EVERY_MS = 15_000

export interface UsageMeter {
  /** Samples a container until the result is disposed. */
  watch(container: string): Disposable
  /** Returns the peaks so far, or undefined before the first sample. */
  peaks(): StepUsage | undefined
  /** Returns the peaks of one container. */
  peaksOf(container: string): StepUsage | undefined
}

export interface MeterOptions {
  readonly docker: Docker
  readonly clock: Clock
  /** Called periodically while a container runs. */
  readonly onUsage: (usage: StepUsage) => void
  /** Called with each sample. */
  readonly onSample?: ((sample: StepSample) => void) | undefined
}

export function openMeter({ docker, clock, onUsage, onSample }: MeterOptions): UsageMeter {
  const containers = new Map<string, StepUsage>()
  /** The last samples of the containers that run. */
  const inUse = new Map<string, ContainerSample>()
  const sum = (of: 'memoryUsageBytes' | 'workingSetBytes'): number =>
    [...inUse.values()].reduce((bytes, one) => bytes + one[of], 0)
  const startedAt = clock.monotonic()
  let updatedAt = -Infinity

  async function sample(container: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(EVERY_MS, signal)
      const latest = await docker.sampleContainer(container, signal)
      if (latest === undefined) continue
      containers.set(container, highest(containers.get(container), latest))
      if (!signal.aborted) inUse.set(container, latest)
      const now = clock.monotonic()
      const usage = peaks()
      onSample?.({
        cpuMs: usage?.cpuMs ?? 0,
        memoryUsageBytes: sum('memoryUsageBytes'),
        workingSetBytes: sum('workingSetBytes'),
      })
      if (usage === undefined || now - startedAt < FIRST_UPDATE_MS || now - updatedAt < UPDATE_EVERY_MS) continue
      updatedAt = now
      onUsage({ ...usage, memoryBytes: sum('workingSetBytes') })
    }
  }

  function peaks(): StepUsage | undefined {
    const all = [...containers.values()]
    return all.length === 0 ? undefined : all.reduce(add)
  }

  return {
    watch(container) {
      const over = new AbortController()
      sample(container, over.signal).catch(() => undefined)
      return {
        [Symbol.dispose]() {
          over.abort(OVER)
          inUse.delete(container)
        },
      }
    },
    peaks,
    peaksOf: (container) => containers.get(container),
  }
}

/** Shared, because an error with its stack for every container would be expensive. */
const OVER = new DOMException('the container is gone', 'AbortError')

function highest(before: StepUsage | undefined, sample: ContainerSample): StepUsage {
  const peak = Math.max(before?.memoryPeakBytes ?? 0, sample.memoryPeakBytes ?? sample.workingSetBytes)
  return {
    memoryPeakBytes: peak,
    ...defined({ memoryLimitBytes: sample.memoryLimitBytes }),
    cpuMs: sample.cpuMs,
    readBytes: sample.readBytes,
    writtenBytes: sample.writtenBytes,
  }
}

/** Combines the containers of a step, which run one after the other: the highest memory, and the sum of the rest. */
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
