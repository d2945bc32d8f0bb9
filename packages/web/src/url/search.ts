/** The query of the address as state of a screen. */
import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'
import { readBuildFilter, writeBuildFilter, type BuildFilter } from './build-filter.ts'

/** Returns one parameter of the address and a function that changes it without a new entry in the history. */
export function useParam(name: string): readonly [string | undefined, (value: string | undefined) => void] {
  const search = useSearch()
  const [path, go] = useLocation()
  const set = useCallback(
    (value: string | undefined) => {
      const params = new URLSearchParams(search)
      if (value === undefined || value === '') params.delete(name)
      else params.set(name, value)
      const text = params.toString()
      go(path + (text === '' ? '' : `?${text}`) + location.hash, { replace: true })
    },
    [search, path, go, name],
  )
  return [new URLSearchParams(search).get(name) ?? undefined, set]
}

/** Returns the filters of the address and a function that replaces them. */
export function useBuildFilter(): readonly [BuildFilter, (filter: BuildFilter) => void] {
  const search = useSearch()
  const [path, go] = useLocation()
  const set = useCallback((filter: BuildFilter) => go(path + writeBuildFilter(filter)), [path, go])
  return [readBuildFilter(search), set]
}
