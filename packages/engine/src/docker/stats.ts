/** Resource usage of a container from its cgroup (v1 or v2), as reported by the daemon. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface ContainerSample {
  /** Memory in use, with the cache of files. */
  readonly memoryUsageBytes: number
  /** The same without the cache that the kernel can drop. */
  readonly workingSetBytes: number
  /** Only with cgroup v1. */
  readonly memoryPeakBytes: number | undefined
  /** The limit of the container, or in cgroup v1 also of its parents. */
  readonly memoryLimitBytes: number | undefined
  readonly cpuMs: number
  readonly readBytes: number
  readonly writtenBytes: number
}

export interface Stats {
  /** Takes one sample. Returns undefined if the container does not run. */
  sampleContainer(id: string, signal?: AbortSignal): Promise<ContainerSample | undefined>
}

const Io = z.array(z.looseObject({ op: z.string(), value: z.number() })).nullish()
const Sampled = z.looseObject({
  cpu_stats: z.looseObject({ cpu_usage: z.looseObject({ total_usage: z.number() }) }),
  memory_stats: z.looseObject({
    usage: z.number().optional(),
    max_usage: z.number().optional(),
    limit: z.number().optional(),
    stats: z.record(z.string(), z.number()).nullish(),
  }),
  blkio_stats: z.looseObject({ io_service_bytes_recursive: Io }).nullish(),
})

/** Without a limit, cgroup v1 reports a value far beyond any machine. */
const NO_LIMIT = 2 ** 60
const ANSWER_MS = 10_000

export function statsCalls(http: DockerHttp): Stats {
  return {
    async sampleContainer(id, signal) {
      // `one-shot` (1.41) spares the daemon a second sample for the CPU percentage, which is not used.
      const query = { stream: false, 'one-shot': true }
      const call = http.json('GET', `/containers/${id}/stats`, Sampled, { query, signal, timeoutMs: ANSWER_MS })
      const sampled = await ignoring([404, 409, 500], call)
      return sampled === undefined ? undefined : toSample(sampled)
    },
  }
}

function toSample({
  cpu_stats: cpu,
  memory_stats: memory,
  blkio_stats: disk,
}: z.output<typeof Sampled>): ContainerSample | undefined {
  if (memory.usage === undefined) return undefined
  const io = disk?.io_service_bytes_recursive ?? []
  const sum = (name: string): number =>
    io.filter(({ op }) => op.toLowerCase() === name).reduce((bytes, { value }) => bytes + value, 0)
  // `total_inactive_file` in cgroup v1, `inactive_file` in v2.
  const cache = memory.stats?.['total_inactive_file'] ?? memory.stats?.['inactive_file'] ?? 0
  const above = memory.stats?.['hierarchical_memory_limit'] ?? NO_LIMIT
  const limit = Math.min(memory.limit === undefined || memory.limit === 0 ? NO_LIMIT : memory.limit, above)
  return {
    memoryUsageBytes: memory.usage,
    workingSetBytes: Math.max(0, memory.usage - cache),
    memoryPeakBytes: memory.max_usage,
    memoryLimitBytes: limit < NO_LIMIT ? limit : undefined,
    cpuMs: Math.round(cpu.cpu_usage.total_usage / 1e6),
    readBytes: sum('read'),
    writtenBytes: sum('write'),
  }
}
