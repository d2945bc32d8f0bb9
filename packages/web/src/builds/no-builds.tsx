/** What the list says if no build matches its filters: which filter to drop, if dropping one is enough. */
import { useQueries, useQuery } from '@tanstack/react-query'
import type { BuildCounts } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { queries } from '../server/queries.ts'
import { type BuildFilter } from '../url/build-filter.ts'

interface NoBuildsProps {
  readonly filter: BuildFilter
  readonly onChange: (filter: BuildFilter) => void
}

/** Filters that are tried, each with a question to the server. */
const MOST_TRIED = 5

export function NoBuilds({ filter, onChange }: NoBuildsProps): ReactElement {
  const names = (Object.keys(filter) as (keyof BuildFilter)[]).slice(0, MOST_TRIED)
  const without = (name: keyof BuildFilter): BuildFilter => {
    const { [name]: _dropped, ...rest } = filter
    return rest
  }
  const tried = useQueries({ queries: names.map((name) => queries.counts('status', without(name))) })
  const all = useQuery(queries.counts('status', {}))
  const found = names
    .map((name, index) => ({ name, count: sumOf(tried[index]?.data) }))
    .find(({ count }) => count !== undefined && count > 0)
  if (found !== undefined)
    return (
      <Empty action={<Button onClick={() => onChange(without(found.name))}>Drop it</Button>}>
        No builds match. Without <i>{textOf(found.name, filter)}</i> there {found.count === 1 ? 'is 1' : `are ${found.count}`}.
      </Empty>
    )
  const count = sumOf(all.data)
  return (
    <Empty action={<Button onClick={() => onChange({})}>Drop all filters</Button>}>
      No builds match.{count !== undefined && ` Without filters there ${count === 1 ? 'is 1' : `are ${count}`}.`}
    </Empty>
  )
}

function sumOf(counts: BuildCounts | undefined): number | undefined {
  return counts?.items.reduce((sum, { count }) => sum + count, 0)
}

function textOf(name: keyof BuildFilter, filter: BuildFilter): string {
  const value = filter[name]
  if (name === 'from' || name === 'to') return name === 'from' ? 'the earliest time' : 'the latest time'
  return `${name === 'q' ? 'text' : name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`
}
