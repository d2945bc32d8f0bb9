/** The container for the terminals of a held step. Created when the first terminal opens. It idles on a static shell, whatever its image contains. */
import type { ExportedVariable } from '@windlass/plan'
import { addCleanup, type AttemptContext } from '../attempt/context.ts'
import type { ContainerSpec } from '../docker/containers.ts'
import { readExports } from '../containers/exports.ts'
import { STATIC_SHELL } from './terminal.ts'
import { attemptLabels } from '../attempt/labels.ts'

export interface DebugContainer {
  /** Returns the id of the running container. Creates it first if necessary. */
  start(): Promise<string>
  /** Removes the container. Returns the variables that its terminals exported. */
  close(): Promise<readonly ExportedVariable[]>
}

/** What the container shares with the step: image, environment, mounts and network. The command is replaced. */
export type DebugContainerSpec = Omit<ContainerSpec, 'entrypoint' | 'command' | 'init' | 'stdin' | 'labels'>

/** Longer than any build. Seconds. */
const SLEEP_S = '2147483'

export function openDebugContainer(context: AttemptContext, step: string, spec: DebugContainerSpec): DebugContainer {
  const { docker, workspace } = context
  let created: Promise<string> | undefined

  async function create(): Promise<string> {
    await workspace.addShell()
    const id = await docker.createContainer({
      ...spec,
      entrypoint: [STATIC_SHELL],
      command: ['sleep', SLEEP_S],
      init: true,
      stdin: false,
      labels: attemptLabels(context.input, step),
    })
    try {
      await docker.startContainer(id)
      return id
    } catch (error) {
      addCleanup(context, 'remove container', docker.removeContainer(id))
      throw error
    }
  }

  return {
    start() {
      // The caller gets the failure; the next call creates the container again.
      created ??= create().catch((error: unknown) => {
        created = undefined
        throw error
      })
      return created
    },
    async close() {
      const id = await created?.catch(() => undefined)
      if (id === undefined) return []
      const { variables } = await readExports(context, id)
      addCleanup(context, 'remove container', docker.removeContainer(id))
      return variables
    },
  }
}
