/** Runs commands in a container next to services: the readiness check and the setup. */
import { addCleanup, type StepPart } from '../attempt/context.ts'
import { ContainerLines } from '../compose/container-lines.ts'
import type { OutputPart } from '../docker/demux.ts'
import { runContainer } from '../containers/run-container.ts'
import { attemptLabels } from '../attempt/labels.ts'
import type { FoundImage } from '../attempt/step-images.ts'
import type { ServiceNetwork } from '../attempt/service-network.ts'
import { BIN_PATH } from '../attempt/paths.ts'

export interface Probe {
  /** Prefix of its output in the log: `readiness` or `setup`. */
  readonly title: string
  readonly image: string
  readonly commands: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly serviceNetwork: ServiceNetwork
  readonly write: (parts: readonly OutputPart[]) => Promise<void>
}

export interface ProbeEnd {
  readonly exitCode: number
  readonly lastLines: readonly string[]
}

/** Runs the commands like those of a step: with `set -e`, the shared volume, and all variables. Rejects with the reason of the signal. */
export async function runProbe(part: StepPart, probe: Probe): Promise<ProbeEnd> {
  const { context, signal, output } = part
  const say = (line: string): Promise<void> => output.say(`${probe.title}: ${line}`)
  return context.images.use({ name: probe.image }, { signal, say }, (image) => runIn(image, part, probe))
}

async function runIn(image: FoundImage, { context, signal, step }: StepPart, probe: Probe): Promise<ProbeEnd> {
  const { docker, clock } = context
  const lines = new ContainerLines(`${probe.title}  | `)
  const path = image.environment.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? '/usr/bin:/bin'
  const environment = { PATH: path, ...probe.environment }
  return context.namespaces.withNamespace(async (network) => {
    let id: string | undefined
    try {
      const { exitCode } = await runContainer(
        {
          docker,
          clock,
          signal,
          graceMs: 0,
          onOutput: (parts) => probe.write(lines.push(parts)),
          spec: {
            image: image.id,
            entrypoint: ['sh'],
            command: ['-c', ['set -e', ...probe.commands].join('\n')],
            environment: Object.entries({ ...environment, PATH: `${environment.PATH}:${BIN_PATH}` }).map(
              ([name, value]) => `${name}=${value}`,
            ),
            user: '0:0',
            labels: attemptLabels(context.input, step.name),
            mounts: context.workspace.mounts,
            network,
            init: true,
            stdin: false,
          },
        },
        (created) => (id = created),
      )
      return { exitCode, lastLines: lines.last }
    } finally {
      await probe.write(lines.end())
      if (id !== undefined) addCleanup(context, 'remove container', docker.removeContainer(id))
    }
  }, probe.serviceNetwork)
}
