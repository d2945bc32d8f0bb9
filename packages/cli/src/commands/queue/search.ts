import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus } from '../../format/style.ts'
import { openSession } from '../../session/session.ts'

interface SearchOptions {
  readonly limit: number | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `search TEXT`. */
export async function searchAll({ args, options, out, settings }: Invocation<SearchOptions>): Promise<void> {
  const { client } = openSession(settings)
  const { limit, output } = options
  const { items } = await client.builds.search({ query: { q: args[0] ?? '', ...(limit !== undefined && { limit }) } })
  if (output !== undefined) return printValue(out, items, output)
  if (items.length === 0) return out.note('Nothing found.')
  const { style } = out.stdout
  const rows = items.map(({ kind, id, name, build }) => {
    const about = build === undefined ? '' : `#${build.number} ${build.branch ?? ''} ${paintStatus(style, build.status)}`
    return [kind, name, id, about]
  })
  for (const line of alignColumns([['KIND', 'NAME', 'ID', 'BUILD'].map((cell) => style.dim(cell)), ...rows])) out.line(line)
}
