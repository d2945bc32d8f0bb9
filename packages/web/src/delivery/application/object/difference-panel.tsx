/** How an object of the source differs from the cluster. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, type ReactElement } from 'react'
import { Diff } from '../../../parts/diff.tsx'
import { Empty } from '../../../parts/empty.tsx'
import layout from '../../../parts/layout.module.css'
import { Loading } from '../../../parts/loading.tsx'
import { Problem } from '../../../parts/problem.tsx'
import { deliveryQueries } from '../../queries.ts'
import { toTexts } from '../diff-texts.ts'
import { fullNameOf, nameOf, type Named } from '../objects.ts'

export function DifferencePanel({ id, object }: { readonly id: string; readonly object: Named }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.differences(id))
  const name = fullNameOf(object)
  const found = useMemo(() => data?.find((difference) => fullNameOf(difference) === name), [data, name])
  const texts = useMemo(() => found && toTexts(found), [found])
  return (
    <section className={layout['tight']} aria-label="Differences">
      {isPending && <Loading rows={6} what="the differences" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {error === null && data !== undefined && texts === undefined && (
        <Empty>A sync would not change the object. Only objects of the source are compared.</Empty>
      )}
      {error === null && texts !== undefined && (
        <>
          <p className={layout['note']}>Lines with − are in the cluster, lines with + are in the source.</p>
          <Diff label={`What differs in ${nameOf(object)}`} before={texts.before} after={texts.after} />
        </>
      )}
    </section>
  )
}
