/** One delivery: what became of it, the ladder of each trigger, and what was received. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Delivery } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { formatExact } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useAway } from '../shell/away-bar.tsx'
import { Page } from '../shell/page.tsx'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { calls } from '../triggers/calls.ts'
import { TestResult, useDeliveryTest } from '../triggers/test-result.tsx'
import { senderOf } from './delivery-list.tsx'
import { Ladders } from './ladder.tsx'
import { answerOf, describeDelivery, lookOfDelivery } from './outcome.ts'
import { deliveryQueries } from './queries.ts'

export function DeliveryScreen(): ReactElement {
  const { id } = useParams<{ id: string }>()
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.one(id))
  const title = data === undefined ? 'Delivery' : titleOf(data)
  return (
    <Page
      title={title}
      heading={
        <>
          <Link href={paths.deliveries()}>Deliveries</Link> / <bdi>{title}</bdi>
        </>
      }
    >
      {isPending && <Loading rows={8} what="the delivery" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Content key={data.id} delivery={data} />}
    </Page>
  )
}

function titleOf({ event, repo }: Delivery): string {
  return [event ?? 'Delivery', ...(repo === undefined ? [] : [`of ${repo}`])].join(' ')
}

function Content({ delivery }: { readonly delivery: Delivery }): ReactElement {
  const test = useDeliveryTest(delivery)
  const triggers = delivery.triggers ?? []
  return (
    <div className={layout['stack']}>
      <StatusLine look={lookOfDelivery(delivery)}>
        <bdi>{describeDelivery(delivery)}</bdi>
      </StatusLine>
      <Facts delivery={delivery} />
      <Actions delivery={delivery} test={test} />
      {test.result !== undefined && <TestResult result={test.result} />}
      {test.error !== null && <Problem error={test.error} />}
      <h2>Triggers</h2>
      {triggers.length === 0 ? (
        <Empty>No trigger was judged for this delivery.</Empty>
      ) : (
        <Ladders verdicts={triggers} endOf={({ buildId }) => buildId !== undefined && <BuildLink id={buildId} />} />
      )}
      <Received delivery={delivery} />
      <Command text={`windlass describe delivery ${delivery.id}`} />
    </div>
  )
}

function Facts({ delivery }: { readonly delivery: Delivery }): ReactElement {
  const { branch, revision, receivedAt, processedAt, replayOf, isPolled, status, repeats } = delivery
  const answer = answerOf(delivery)
  return (
    <p className={layout['facts']}>
      <span>
        from <bdi>{senderOf(delivery)}</bdi>
      </span>
      {branch !== undefined && (
        <span>
          branch or tag <bdi>{branch}</bdi>
        </span>
      )}
      {revision !== undefined && (
        <span>
          commit <bdi className="mono">{revision.slice(0, 8)}</bdi>
        </span>
      )}
      <span>
        received <When at={receivedAt} />
      </span>
      {processedAt !== undefined && status === 'processed' && <span>processed within {processedAt - receivedAt} ms</span>}
      {processedAt !== undefined && status === 'refused' && repeats > 0 && <span>last refused {formatExact(processedAt)}</span>}
      {answer !== undefined && <span>answer {answer}</span>}
      {isPolled === true && <span>missed: no call reported it, the server found it by comparing branches</span>}
      {replayOf !== undefined && <Link href={paths.deliveries(replayOf)}>replay of an earlier delivery</Link>}
    </p>
  )
}

interface ActionsProps {
  readonly delivery: Delivery
  readonly test: ReturnType<typeof useDeliveryTest>
}

function Actions({ delivery, test }: ActionsProps): ReactElement {
  const [, go] = useLocation()
  const away = useAway()
  const noStart = useOff('start-builds')
  const replay = useMutation({
    mutationFn: () => calls.deliveries.replay(delivery.id),
    onSuccess: ({ id }) => {
      void queryClient.invalidateQueries({ queryKey: ['deliveries'] })
      go(paths.deliveries(id))
    },
  })
  const noBody = delivery.body === undefined ? 'The delivery was refused, so its body is not stored.' : undefined
  const off = noStart ?? noBody
  usePaletteActions(() => [
    { id: 'replay', group: 'Actions', label: 'Replay the delivery', off, run: () => replay.mutate() },
    { id: 'try', group: 'Actions', label: 'Test the delivery with the triggers as they are now', off: test.off, run: test.run },
  ])
  return (
    <div className={layout['tight']}>
      <div className={layout['buttons']}>
        <Button off={off} isBusy={replay.isPending} onClick={() => replay.mutate()}>
          Replay
        </Button>
        <Button off={away ?? test.off} isBusy={test.isBusy} onClick={test.run}>
          Test with the triggers as they are now
        </Button>
      </div>
      <p className={layout['note']}>
        A replay is a new delivery and starts a build for each trigger that matches. A test starts nothing. Both use the triggers
        of this moment.
      </p>
      {replay.error !== null && <Problem error={replay.error} />}
      <Command text={`windlass replay delivery ${delivery.id}`} />
    </div>
  )
}

/** A build by its number, once it is known. */
function BuildLink({ id }: { readonly id: string }): ReactElement {
  const { data } = useQuery(queries.build(id))
  return <Link href={paths.build(id)}>{data === undefined ? 'the build' : `build #${data.number}`}</Link>
}

function Received({ delivery }: { readonly delivery: Delivery }): ReactElement {
  const headers = Object.entries(delivery.headers ?? {})
  const body = delivery.body === undefined ? undefined : pretty(delivery.body)
  return (
    <>
      <h2>What was received</h2>
      {headers.length > 0 && (
        <pre className={layout['code']} tabIndex={0} role="region" aria-label={plural(headers.length, 'header')}>
          <bdi>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</bdi>
        </pre>
      )}
      {body === undefined ? (
        <p className={layout['note']}>
          {delivery.status === 'refused'
            ? 'The body of a refused call is not stored, so that strangers cannot fill the database.'
            : 'The event has no body.'}
        </p>
      ) : (
        <>
          <h3>
            Body, with secrets masked <CopyButton text={body} label="Copy the body" />
          </h3>
          <pre className={layout['code']} tabIndex={0} role="region" aria-label="Body">
            <bdi>{body}</bdi>
          </pre>
        </>
      )}
    </>
  )
}

/** Returns JSON with line breaks, or the text as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
