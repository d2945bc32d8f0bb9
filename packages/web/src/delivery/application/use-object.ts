/** The object of an application that is open, as a part of the address, so that it can be sent to others. */
import { useLocation, useSearch } from 'wouter'

const OBJECT_VIEWS = ['manifest', 'diff', 'events', 'logs'] as const
export type ObjectView = (typeof OBJECT_VIEWS)[number]

export interface ShownObject {
  /** Its full name; undefined if none is open. */
  readonly name: string | undefined
  readonly view: ObjectView
  /** Returns the address that shows an object. */
  readonly hrefOf: (name: string, view?: ObjectView) => string
  readonly close: () => void
}

export function useObject(): ShownObject {
  const search = useSearch()
  const [path, go] = useLocation()
  const params = new URLSearchParams(search)
  const given = params.get('view')
  const addressOf = (name: string | undefined, view: ObjectView | undefined): string => {
    const next = new URLSearchParams(search)
    const set = (key: string, value: string | undefined): void => {
      if (value === undefined) next.delete(key)
      else next.set(key, value)
    }
    set('object', name)
    set('view', view === 'manifest' ? undefined : view)
    const text = next.toString()
    return path + (text === '' ? '' : `?${text}`)
  }
  return {
    name: params.get('object') ?? undefined,
    view: OBJECT_VIEWS.find((one) => one === given) ?? 'manifest',
    hrefOf: (name, view) => addressOf(name, view),
    close: () => go(addressOf(undefined, undefined)),
  }
}
