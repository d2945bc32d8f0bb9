/** The short address of a build, for people: leads to its page. */
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Redirect, useParams } from 'wouter'
import { ButtonLink } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { queries } from '../server/queries.ts'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'

export function BuildByNumber(): ReactElement {
  const { number } = useParams<{ number: string }>()
  const { data, error, isPending, refetch } = useQuery(queries.buildByNumber(Number(number)))
  const found = data?.items[0]
  if (found !== undefined) return <Redirect to={paths.build(found.id)} replace />
  return (
    <Page title={`Build ${number}`}>
      {isPending && <Loading rows={1} what="the build" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <Empty action={<ButtonLink href={paths.builds()}>Show builds</ButtonLink>}>
          There is no build #{number} that you may see. Builds are deleted after the time that the settings say.
        </Empty>
      )}
    </Page>
  )
}
