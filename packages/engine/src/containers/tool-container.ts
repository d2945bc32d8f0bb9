/** Runs a script in the tools image: secrets from standard input into a tmpfs, results on standard output, the log on standard error. */
import { pack } from 'tar-stream'
import { buffer } from 'node:stream/consumers'
import { addCleanup, type StepPart } from '../attempt/context.ts'
import type { ContainerMount, ContainerSpec } from '../docker/containers.ts'
import { runContainer, type ContainerEnd } from './run-container.ts'
import { attemptLabels } from '../attempt/labels.ts'

export interface ToolRun {
  /** Text of a bash script. */
  readonly script: string
  readonly arguments?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Files for the script in `/run/windlass`, readable only by root. */
  readonly secrets: Readonly<Record<string, string | Uint8Array>>
  /** Additional to the shared volume. */
  readonly mounts?: readonly ContainerMount[]
  /** Default: the tools image. Must have bash and tar. */
  readonly image?: string | undefined
  /** `host` to reach a registry on the daemon's machine, `none` for no network. Default: a separate namespace. */
  readonly network?: 'host' | 'none' | undefined
  /** Receives unmasked standard error as it arrives. */
  readonly onStderr?: ((bytes: Uint8Array) => void) | undefined
  /** Do not log standard error. */
  readonly isQuiet?: boolean | undefined
}

export interface ToolEnd extends ContainerEnd {
  /** Standard output. */
  readonly result: Buffer
  /** The end of standard error, unmasked. */
  readonly tail: string
}

const MAX_RESULT_BYTES = 1_048_576
const TAIL_BYTES = 8_192

/** Runs the script. Resolves with any exit code; rejects like `runContainer`. */
export async function runTool(run: StepPart, tool: ToolRun): Promise<ToolEnd> {
  const secrets = await toArchive(tool.secrets)
  const ready = { ...tool, archive: secrets }
  if (tool.network !== undefined) return runIn(tool.network, run, ready)
  return run.context.namespaces.withNamespace((network) => runIn(network, run, ready))
}

async function runIn(
  network: string,
  { context, step, output, signal, meter }: StepPart,
  tool: ToolRun & { archive: Buffer },
): Promise<ToolEnd> {
  const { docker, clock, input } = context
  const result: Buffer[] = []
  let bytes = 0
  let tail = Buffer.alloc(0)
  let id: string | undefined
  try {
    const end = await runContainer(
      {
        docker,
        clock,
        signal,
        graceMs: input.limits.stopGraceMs,
        meter,
        input: tool.archive,
        spec: toSpec(network, tool, { context, step }),
        async onOutput(parts, until) {
          for (const part of parts)
            if (part.source === 1 && (bytes += part.bytes.length) <= MAX_RESULT_BYTES) result.push(part.bytes)
          const errors = parts.filter(({ source }) => source === 2)
          tail = Buffer.concat([tail, ...errors.map((part) => part.bytes)]).subarray(-TAIL_BYTES)
          for (const part of errors) tool.onStderr?.(part.bytes)
          if (tool.isQuiet !== true) await output.write(errors, until)
        },
      },
      (created) => (id = created),
    )
    return { ...end, result: Buffer.concat(result), tail: tail.toString('utf8') }
  } finally {
    if (id !== undefined) addCleanup(context, 'remove container', docker.removeContainer(id))
  }
}

function toSpec(network: string, tool: ToolRun, { context, step }: Pick<StepPart, 'context' | 'step'>): ContainerSpec {
  return {
    image: tool.image ?? context.toolsImage,
    entrypoint: ['/bin/bash', '-c', tool.script, 'windlass', ...(tool.arguments ?? [])],
    environment: Object.entries(tool.environment).map(([name, value]) => `${name}=${value}`),
    workingDirectory: '/',
    labels: attemptLabels(context.input, step.name),
    mounts: [...context.workspace.mounts, { type: 'tmpfs', target: '/run/windlass' }, ...(tool.mounts ?? [])],
    network,
    init: true,
    stdin: true,
  }
}

async function toArchive(files: ToolRun['secrets']): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o600 }, Buffer.from(content))
  tar.finalize()
  return buffer(tar)
}
