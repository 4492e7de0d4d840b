/* A parent with a pass open, its child with passes of its own, and a program that the child becomes. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "waykeeper.h"

int main(int argc, char **argv)
{
	if (argc > 1) {
		wk_begin(3);
		wk_end(3);
		return 0;
	}
	wk_begin(1);
	pid_t child = fork();
	if (child == 0) {
		wk_begin(2);
		wk_end(2);
		execl(argv[0], argv[0], "again", (char *)NULL);
		return 1;
	}
	int status;
	waitpid(child, &status, 0);
	wk_end(1);
	return status;
}
