/** The start of the page: the list of builds, with the default view of the user if there is one. */
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Redirect } from 'wouter'
import { Loading } from '../parts/loading.tsx'
import { paths } from '../url/paths.ts'
import { fromViewFilter } from './views/view-filter.ts'
import { viewQueries } from './views/view-queries.ts'

export function Home(): ReactElement {
  const preferences = useQuery(viewQueries.preferences())
  const wanted = preferences.data?.defaultView
  const shared = useQuery({ ...viewQueries.shared(), enabled: wanted?.shared === true })
  // Without an answer the list says what is wrong.
  if (preferences.isPending || (wanted?.shared === true && shared.isPending)) return <Loading rows={12} what="builds" />
  const views = wanted?.shared === true ? shared.data?.items : preferences.data?.views
  const view = views?.find(({ name }) => name === wanted?.name)
  return <Redirect to={paths.builds(view === undefined ? {} : fromViewFilter(view.filter))} replace />
}
