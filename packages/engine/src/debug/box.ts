/** The container in which the terminals of a held step run. It is made when the first one is opened, and waits without needing its image. */
import type { ExportedVariable } from '@windlass/plan'
import { addChore, attemptLabels, type AttemptContext } from '../attempt/context.ts'
import type { ContainerSpec } from '../docker/containers.ts'
import { readExports } from '../steps/exports.ts'
import { STATIC_SHELL } from './terminal.ts'

export interface Box {
  /** Id of the container, running. */
  container(): Promise<string>
  /** Removes it; answers what was exported in its terminals. */
  close(): Promise<readonly ExportedVariable[]>
}

/** What the container has of the step: its image, environment, mounts and network; its program is replaced. */
export type BoxSpec = Omit<ContainerSpec, 'entrypoint' | 'command' | 'init' | 'stdin' | 'labels'>

/** Longer than any build. */
const SLEEP_S = '2147483'

export function openBox(context: AttemptContext, step: string, spec: BoxSpec): Box {
  const { docker, workspace } = context
  let made: Promise<string> | undefined

  async function make(): Promise<string> {
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
      addChore(context, 'remove container', docker.removeContainer(id))
      throw error
    }
  }

  return {
    container() {
      // A failure is told to whoever asked; the next one tries again.
      made ??= make().catch((error: unknown) => {
        made = undefined
        throw error
      })
      return made
    },
    async close() {
      const id = await made?.catch(() => undefined)
      if (id === undefined) return []
      const { variables } = await readExports(context, id)
      addChore(context, 'remove container', docker.removeContainer(id))
      return variables
    },
  }
}
