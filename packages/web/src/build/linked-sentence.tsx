/** A sentence about a build in which the numbers of the builds that hold its limit are links. */
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { paths } from '../url/paths.ts'

export function LinkedSentence({ build, text }: { readonly build: Build; readonly text: string }): ReactElement {
  const ids = new Map((build.waiting?.holders ?? []).map(({ number, id }) => [`#${number}`, id]))
  if (ids.size === 0) return <bdi>{text}</bdi>
  return (
    <bdi>
      {text.split(/(#\d+)/).map((part, index) => {
        const id = ids.get(part)
        return id === undefined ? (
          part
        ) : (
          <Link key={index} href={paths.build(id)}>
            {part}
          </Link>
        )
      })}
    </bdi>
  )
}
