/** References to variables in values, as GitLab runners expand them: `$NAME` and `${NAME}`. */

/** Single characters after `$` that a shell would expand. They have no value, except for `$$`, which is a dollar sign. */
const SPECIAL = /[*#@!?0-9-]/

/** Replaces each reference once. A variable that does not exist is empty. `${` without an end stays as it is. */
export function expandText(text: string, valueOf: (name: string) => string | undefined): string {
  if (!text.includes('$')) return text
  return text.replaceAll(/\$(?:\{([^}]*)\}|(\w+)|([*#@!?$-]))/g, (_, braced?: string, name?: string, special?: string) => {
    if (special !== undefined) return special === '$' ? '$' : ''
    const wanted = braced ?? name ?? ''
    if (wanted.length === 1 && SPECIAL.test(wanted)) return ''
    return valueOf(wanted) ?? ''
  })
}
