/** What surrounds every screen: rail, top bar, palette, help, messages, and the sign-in that a session which ends needs. */
import { Suspense, useEffect, useRef, useState, type ReactElement, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { observeStream, restartStream, useTopics } from '../server/stream.ts'
import { useSession } from '../server/session.ts'
import { paths } from '../url/paths.ts'
import { AwayBar } from './away-bar.tsx'
import { Boundary } from './boundary.tsx'
import { late } from './late.tsx'
import { Rail } from './rail.tsx'
import { APPLICATIONS_ROOM, badges, GITLAB_ROOM, useRooms } from './rooms.ts'
import { useShortcuts } from './shortcuts.ts'
import styles from './shell.module.css'
import { tell, Toasts } from './toasts.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = late(async () => (await import('./palette/palette.tsx')).Palette)
const Help = late(async () => (await import('./help.tsx')).Help)
const SessionEnded = late(async () => (await import('../signin/session-ended.tsx')).SessionEnded)

export function Shell({ children }: { readonly children: ReactNode }): ReactElement {
  const [path, go] = useLocation()
  const state = useSession()
  const [opened, setOpened] = useState<'palette' | 'actions' | 'help'>()
  const rooms = useRooms()
  // The cursor of the session is that of the first stream.
  const isKnown = state.kind === 'in' || state.kind === 'ended'
  useTopics(isKnown ? ['account'] : [], ({ event, data }) => {
    if (event !== 'counts') return
    const { approvals, gitlabJobs, applications } = data.counts
    badges.set({
      Approvals: approvals,
      ...(gitlabJobs !== undefined && { [GITLAB_ROOM]: gitlabJobs }),
      ...(applications !== undefined && { [APPLICATIONS_ROOM]: applications }),
    })
  })
  useNewVersion()
  useShortcuts('Everywhere', [
    { keys: 'Ctrl+k', does: 'Search or go to', run: () => setOpened('palette') },
    { keys: '.', does: 'Show the actions of this page', run: () => setOpened('actions') },
    { keys: '?', does: 'Show these keys', run: () => setOpened('help') },
    ...rooms.map((room) => ({ keys: `g ${room.key}`, does: `Go to ${room.name}`, run: () => go(room.path) })),
  ])
  useStreamOfSession(state.kind)
  const isOut = state.kind === 'none'
  useEffect(() => {
    if (isOut) go(paths.signIn(path + location.search + location.hash), { replace: true })
  }, [isOut, go, path])

  if (state.kind === 'failed')
    return (
      <div className={styles['alone']}>
        <AwayBar />
        <Problem error={state.error} onRetry={state.retry} />
      </div>
    )
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#main">
        Go to the content
      </a>
      <Rail />
      <div className={styles['body']}>
        <AwayBar />
        <TopBar onSearch={() => setOpened('palette')} onHelp={() => setOpened('help')} />
        <Suspense fallback={<Waiting what="the page" />}>
          {isKnown ? <Boundary at={path}>{children}</Boundary> : <Waiting what="the session" />}
        </Suspense>
      </div>
      <Suspense fallback={null}>
        {(opened === 'palette' || opened === 'actions') && (
          <Palette
            start={opened === 'actions' ? '> ' : ''}
            onClose={() => setOpened(undefined)}
            onHelp={() => setOpened('help')}
          />
        )}
        {state.kind === 'ended' && <SessionEnded before={state.session} />}
        {opened === 'help' && <Help isOpen onClose={() => setOpened(undefined)} />}
      </Suspense>
      <Toasts />
    </div>
  )
}

/** Opens the stream again when a session that had ended is there again, such as after a sign-in in another window. */
function useStreamOfSession(kind: ReturnType<typeof useSession>['kind']): void {
  const hasEnded = useRef(false)
  useEffect(() => {
    if (kind === 'in' && hasEnded.current) restartStream()
    if (kind === 'in' || kind === 'ended') hasEnded.current = kind === 'ended'
  }, [kind])
}

/** Says when the server has another version than the one that sent the page. */
function useNewVersion(): void {
  useEffect(() => {
    let known: string | undefined
    return observeStream(({ event, data }) => {
      if (event !== 'open') return
      known ??= data.version
      if (known !== data.version)
        tell({ text: 'A new version is available.', action: { label: 'Reload', run: () => location.reload() } })
    })
  }, [])
}

/** Stands where the page will be, at the same distance from the edges. */
function Waiting({ what }: { readonly what: string }): ReactElement {
  return (
    <div className={styles['page']}>
      <Loading what={what} />
    </div>
  )
}
