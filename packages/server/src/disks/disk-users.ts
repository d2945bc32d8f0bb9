/** Says which builds may use a disk, from the labels that they must have. */
import { LABEL, type DiskFacts } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findNames } from '../store/runtimes/disks.ts'

/** Labels that all builds of an account have. */
const SHARED: readonly string[] = [LABEL.volumeApp, LABEL.account, LABEL.app]

/** Returns a text for each disk, such as `builds of the pipeline demo/app on the branch main`. Undefined if the labels of the disk are not known. */
export async function usersOf(app: App, disks: readonly DiskFacts[]): Promise<(string | undefined)[]> {
  const { query } = app.store
  const idsOf = (key: string): string[] => [...new Set(disks.flatMap(({ selector = {} }) => selector[key] || []))]
  const pipelines = await findNames(query, 'pipeline', idsOf(LABEL.pipeline))
  const projects = await findNames(query, 'project', idsOf(LABEL.project))
  const say: Readonly<Record<string, (value: string) => string>> = {
    [LABEL.pipeline]: (id) => (id === '' ? 'without a pipeline' : `of the pipeline ${pipelines.get(id) ?? id}`),
    [LABEL.project]: (id) => (id === '' ? 'without a project' : `of the project ${projects.get(id) ?? id}`),
    [LABEL.branch]: (value) => (value === '' ? 'without a branch' : `on the branch ${value}`),
    [LABEL.trigger]: (value) => (value === '' ? 'without a trigger' : `of the trigger ${value}`),
  }
  return disks.map(({ selector }) => {
    if (selector === undefined) return undefined
    const limits = Object.entries(selector).filter(([key]) => !SHARED.includes(key))
    if (limits.length === 0) return 'all builds'
    return `builds ${limits.map(([key, value]) => say[key]?.(value) ?? `with ${key}=${value}`).join(' ')}`
  })
}
