/** The filters of views, as the server stores them. */
import type { ViewFilter } from '@windlass/protocol'
import { writeBuildFilter, type BuildFilter } from '../../url/build-filter.ts'

/** Returns the filter of a view. A view has no times, which would be over soon. */
export function toViewFilter({ by, from: _from, to: _to, ...filter }: BuildFilter): ViewFilter {
  const entries = Object.entries({ ...filter, initiator: by }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'string' ? value : [...(value ?? [])]]))
}

/** Returns the filters of the page for a view. */
export function fromViewFilter({ initiator, ...filter }: ViewFilter): BuildFilter {
  const entries = Object.entries({ ...filter, by: initiator }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries)
}

/** Returns true if the filters are those of the view, in any order. */
export function isOfView(filter: BuildFilter, view: ViewFilter): boolean {
  return normalized(filter) === normalized(fromViewFilter(view))
}

function normalized(filter: BuildFilter): string {
  return [...new URLSearchParams(writeBuildFilter(filter)).entries()]
    .map((entry) => JSON.stringify(entry))
    .toSorted()
    .join()
}
