/* Commands on some cells of a run; see selection.h. */
#include "harness/selection.h"

#include "harness/digits.h"

#include <stdio.h>
#include <string.h>

bool selection_has_case(const struct selection *s, const char *row) {
  return !s->part || strstr(row, s->part) != NULL;
}

bool selection_count(const char *command, const char *option, const char *text, unsigned most,
                     unsigned *out, struct error *e) {
  uint64_t n;
  if (!text || !digits_parse(text, strlen(text), &n) || n < 1 || n > most)
    return error_set(e, EXIT_USAGE, "%s: %s needs a number from 1 to %u%s%s", command, option, most,
                     text ? ", not " : "", text ? text : "");
  *out = (unsigned)n;
  return true;
}

static bool is_option(const char *word, const char *name) {
  return word[0] == '-' && strcmp(word + (strncmp(word, "--", 2) == 0 ? 2 : 1), name) == 0;
}

static bool wants_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (is_option(argv[i], "help") || is_option(argv[i], "h"))
      return true;
  return false;
}

static bool parse(const struct selection_command *c, int argc, char **argv, struct selection *s,
                  struct error *e) {
  size_t given = 0;
  bool options = true; /* until "--" */
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (options && strcmp(argv[i], "--") == 0)
      options = false;
    else if ((!options || argv[i][0] != '-') && given < c->words)
      s->words[given++] = argv[i];
    else if (options && is_option(argv[i], "case") && value)
      s->part = argv[++i];
    else if (options && is_option(argv[i], "threads")) {
      if (!selection_count(c->name, "--threads", value, SELECTION_MOST_THREADS, &s->threads, e))
        return false;
      i++;
    } else
      return error_set(e, EXIT_USAGE, "%s: \"%s\" is not understood; %s", c->name, argv[i],
                       c->form);
  }
  return given == c->words || error_set(e, EXIT_USAGE, "%s: %s", c->name, c->missing);
}

int selection_main(const struct selection_command *c, int argc, char **argv) {
  struct selection s = {0};
  struct rundata d = {0};
  struct error e;
  if (wants_help(argc, argv)) {
    fputs(c->help, stdout);
    return EXIT_DONE;
  }
  bool ok = parse(c, argc, argv, &s, &e) && rundata_load(&d, s.words[0], &e) && c->run(&s, &d, &e);
  rundata_free(&d);
  return error_finish(ok, &e);
}
