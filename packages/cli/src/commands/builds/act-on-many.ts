import { MAX_ACTION_BUILDS, type Build, type BuildAction } from '@windlass/protocol'
import { fault, isFaultCode } from '@windlass/kit/faults'
import { requireBuildId } from '../../input/build-id.ts'
import type { Printer } from '../../printer.ts'
import type { Session } from '../../session/session.ts'

export interface ManyBuilds {
  readonly ids: readonly string[]
  readonly action: BuildAction
  /** Returns the line for a build with which the action was done. */
  readonly toLine: (id: string, build: Build) => string
}

/** Does the same with several builds and prints a line for each. If some of them refuse it, throws the fault of the first one at the end. */
export async function actOnMany({ client }: Session, out: Printer, { ids, action, toLine }: ManyBuilds): Promise<void> {
  const all = ids.map(requireBuildId)
  const refusals: string[] = []
  for (let from = 0; from < all.length; from += MAX_ACTION_BUILDS) {
    const { items } = await client.builds.act({ action, ids: all.slice(from, from + MAX_ACTION_BUILDS) })
    for (const { id, build, problem } of items) {
      if (build !== undefined) out.line(toLine(id, build))
      if (problem === undefined) continue
      out.note(`build/${id}: ${problem.message}`)
      refusals.push(problem.code)
    }
  }
  const [code] = refusals
  if (code === undefined) return
  throw fault(isFaultCode(code) ? code : 'conflict', {
    message: `${refusals.length} of ${all.length} builds refused it.`,
    hint: 'The reason of each is printed above.',
  })
}
