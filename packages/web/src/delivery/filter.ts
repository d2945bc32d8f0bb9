/** The filters of the list of applications, in the address. */
import {
  APPLICATION_HEALTHS,
  APPLICATION_SORTS,
  APPLICATION_SYNCS,
  type ApplicationHealth,
  type ApplicationSort,
  type ApplicationSync,
} from '@windlass/protocol'

/** Filters by a name. */
export const NAME_FILTERS = ['runtime', 'project'] as const
export type NameFilter = (typeof NAME_FILTERS)[number]

/** All filters must match. */
export interface ApplicationFilter extends Partial<Record<NameFilter, string>> {
  readonly health?: ApplicationHealth
  readonly sync?: ApplicationSync
  /** A part of the name. */
  readonly q?: string
  readonly sort?: ApplicationSort
}

/** What the parts of the screen that change the filters take. */
export interface FilterProps {
  readonly filter: ApplicationFilter
  readonly onChange: (filter: ApplicationFilter) => void
}

/** Reads the filters of an address. Unknown values are left out. */
export function readFilter(search: string): ApplicationFilter {
  const params = new URLSearchParams(search)
  const one = <T extends string>(name: string, known: readonly T[]): Record<string, T> => {
    const value = known.find((each) => each === params.get(name))
    return value === undefined ? {} : { [name]: value }
  }
  const texts = [...NAME_FILTERS, 'q'].flatMap((name) => {
    const value = params.get(name)?.trim() ?? ''
    return value === '' ? [] : [[name, value] as const]
  })
  return {
    ...one('health', APPLICATION_HEALTHS),
    ...one('sync', APPLICATION_SYNCS),
    ...Object.fromEntries(texts),
    ...one('sort', APPLICATION_SORTS),
  }
}

/** Returns the query of an address, with its `?`. */
export function writeFilter(filter: ApplicationFilter): string {
  const text = new URLSearchParams(Object.entries(filter)).toString()
  return text === '' ? '' : `?${text}`
}
