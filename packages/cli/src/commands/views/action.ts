import { isFault, fault } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import type { ViewFilter } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { openSession, type Session } from '../../session/session.ts'

interface View {
  readonly name: string
  readonly shared: boolean
  readonly isDefault: boolean
  readonly filter: ViewFilter
}

/** Runs `get views`. */
export async function listViews({
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined; noHeaders: boolean }>): Promise<void> {
  const views = await readViews(openSession(settings))
  if (options.output !== undefined) return printValue(out, views, options.output)
  if (views.length === 0) return out.note('No views found.')
  const head = options.noHeaders ? [] : [['NAME', 'SHARED', 'DEFAULT', 'FILTER'].map((cell) => out.stdout.style.dim(cell))]
  const rows = views.map(({ name, shared, isDefault, filter }) => [
    name,
    shared ? 'yes' : '',
    isDefault ? 'yes' : '',
    textOf(filter),
  ])
  for (const line of alignColumns([...head, ...rows])) out.line(line)
}

/** Returns the filter of a view; own views take precedence over shared ones of the same name. Throws `not-found`. */
export async function findView(session: Session, name: string): Promise<ViewFilter> {
  const views = await readViews(session)
  const found = views.find((view) => view.name === name)
  if (found !== undefined) return found.filter
  const near = nearest(
    name,
    views.map((view) => view.name),
  )
  throw fault('not-found', {
    message: `The view "${name}" does not exist.`,
    hint: near === undefined ? 'List them with `windlass get views`.' : `Did you mean "${near}"?`,
  })
}

async function readViews({ client }: Session): Promise<View[]> {
  const { views, defaultView } = await client.preferences.get()
  const isDefault = (name: string, shared: boolean): boolean => defaultView?.name === name && defaultView.shared === shared
  const shared = await client.views.list().catch((error: unknown) => {
    // A key may be limited to other scopes.
    if (isFault(error, 'scope-missing')) return { items: [] }
    throw error
  })
  return [
    ...views.map(({ name, filter }) => ({ name, shared: false, isDefault: isDefault(name, false), filter })),
    ...shared.items.map(({ name, filter }) => ({ name, shared: true, isDefault: isDefault(name, true), filter })),
  ]
}

function textOf(filter: ViewFilter): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ')
}
